import { limitsOf } from '#accounts/plan';
import { catalogTable } from '#edge/openapi-texts';

/** What holds for every endpoint, in Markdown: the first thing that readers of the document see. */
export function introduction(): string {
  return `${CHAPTERS}\n\n# Errors\n\n${ERRORS}\n\n${catalogTable()}\n`;
}

/** Source: interface 8.1. */
const PLANS = `${planText('free')}, ${planText('indie')}, ${planText('pro')}; \`enterprise\` as agreed.`;

function planText(plan: 'free' | 'indie' | 'pro'): string {
  const { requestsPerMinute, cyclesPerMonth } = limitsOf({ plan });
  const cycles = cyclesPerMonth.toLocaleString('en');
  return `\`${plan}\` has ${requestsPerMinute} requests a minute and ${cycles} cycles a month`;
}

const CHAPTERS = `Stateful personalities for software agents. Create an **instance** for an agent \
once, then send it **observations**. Every observation advances it by one **cycle** and answers a \
**snapshot** (its state), a **contract** (what it may do now, and in which style) and a **drift** \
classification.

# Conventions

- JSON in UTF-8. One object is \`{"data": {…}}\`, a list \`{"data": […], "pagination": {…}}\`, a \
refusal \`{"error", "message", "details"}\`.
- Unknown fields and unknown query parameters are refused, so that typing errors show.
- Times are RFC 3339. You may send any offset and up to nine fraction digits (cut to milliseconds); \
answers are in UTC with \`Z\` and milliseconds.
- \`updated_at\` is the server's time of the last change (create, rename, cycle, reset).
- A path that exists with another method is 404 with \`Allow\`; so is HEAD.
- \`name\` and \`description\` are counted in code points. \`context\` has at most 8 KiB of JSON \
and 16 levels. The same key twice in one object is refused.

# Authentication

Every request carries \`Authorization: Bearer svc_sk_…\`. No other scheme is accepted. The scope \
of a key is one word or more: \`full\` reads and changes instances, \`read\` reads them and may call \
\`POST /test/submit\`, \`audit\` reads the audit trail, and \`billing\` opens the payment provider's pages. \
A call that changes an instance is 403 \`read_only_key\` for a key without \`full\`; any other call that \
the scope does not contain is 403 \`missing_scope\`. A key that is bound to networks is 403 \`address_not_allowed\` from \
elsewhere, and one that is disabled 401, like one that does not exist. Another account's instance is 404, exactly like one that does not exist.

# Cycles and throttling

One processed observation is one cycle, and cycles are what is billed. An observation that the \
engine rolls back (drift \`D3\`) was processed and counts.

Between two observations of an instance there is at least **1.000 s**, measured by their own time: \
\`timestamp\`, or the moment of arrival where you send none. An observation that comes too early is \
no error: the answer is 200 with the previous state, \`X-Throttled: true\` and \`Retry-After\`; \
nothing advances and nothing is billed. \`Prefer: handling=strict\` makes it 429 \`throttled\` \
instead, with \`Preference-Applied\`. To send several at once, use the batch, or your own timestamps.

# Limits

${PLANS}

Every answer carries \`X-RateLimit-Limit\`, \`-Remaining\`, \`-Reset\` and \`X-Monthly-Remaining\`, \
and beside them the IETF headers \`RateLimit\` and \`RateLimit-Policy\`.

- The minute is a fixed window of 60 s that begins with your first request. Every request with a \
valid key counts, also one that is refused; only \`rate_limited\` ones do not.
- The month is the calendar month in UTC. Only cycles that really advanced are charged.
- Where no caller is known (401, broken HTTP) the numbers are 0.
- If the limiter cannot be asked, the answer is 503 with \`Retry-After: 2\`: never a free pass.
- After 30 refused keys in a minute from your address, keys that were not in use recently are looked \
up only now and then: 503 \`too_many_refused_keys\` says nothing of your key. Retry.

# Retrying safely

Send an \`Idempotency-Key\` with create, process, batch and reset. The same key and body within 24 \
hours give the stored answer with \`Idempotent-Replayed: true\`, without another cycle, even when \
the quota is used up meanwhile. While the first call is still running, the second waits for its \
answer. The same key with another body is 422 \`idempotency_key_reused\`. The key belongs to account \
and instance (for a create, to the account). Refusals and throttled answers are not stored; they \
are decided again. **A key that is a UUIDv7 made in the last 10 seconds needs no look-up; use one.** \
Any other key costs a read.

# Concurrent changes

Answers about one instance carry its version as a strong \`ETag\`. \`If-Match\` on PATCH, DELETE \
and reset makes the change only if the version is still that one, otherwise it is 409 \
\`version_mismatch\`; without it the last write wins. \`If-None-Match\` on GET answers 304 while \
nothing has changed. Processing ignores both.

# Pages

A page of history or drift has at most 1 MiB of records: of large ones fewer come than \`limit\` \
says, and \`has_more\` is true. The next page begins at \`offset\` plus the number of records that \
came.

# Generations

A reset sets the cycle to 0 and begins a new generation. History and drift show the current one; \
\`generation=all\` shows every one, newest first.`;

const ERRORS = `\`error\` is one of the codes below. \`message\` is for people and may change. \
\`details.field\` is the path of what is wrong (\`observations[3].timestamp\`), \`details.reason\` a \
stable token. A 429 has \`retry_after\` in seconds; 500 and 503 have \`details.request_id\`. Refused in this \
order: broken HTTP, 401, limits (403, 429, 503), what is wrong with the request (400, 413, 415, \
422), 404, 409, throttling. These are all codes and reasons there are; those of payments belong to \
endpoints that are not part of this document.`;
