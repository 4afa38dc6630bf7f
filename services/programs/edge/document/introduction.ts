import { limitsOf } from '#accounts/plan';
import { FAULTS, type FaultCode } from '#errors/error-codes';
import { type FaultReason, httpOfReason, REASONS } from '#errors/error-reasons';

/** The API document's introduction in Markdown: rules for all endpoints. */
export function introduction(): string {
  return `${CHAPTERS}\n\n# Errors\n\n${ERRORS}\n\n${catalogTable()}\n`;
}

/** Requests and cycles of each plan. Source: interface 8.1. */
const PLANS = `${planText('free')}, ${planText('indie')}, ${planText('pro')}; \`enterprise\` as agreed.`;

function planText(plan: 'free' | 'indie' | 'pro'): string {
  const { requestsPerMinute, cyclesPerMonth } = limitsOf({ plan });
  const cycles = cyclesPerMonth.toLocaleString('en');
  return `\`${plan}\` has ${requestsPerMinute} requests a minute and ${cycles} cycles a month`;
}

const CHAPTERS = `Stateful personalities for software agents. Create an **instance** for an agent \
once, then send **observations**. Every observation advances the instance by one **cycle**. The \
answer has a **snapshot** (the state), a **contract** (allowed actions and style) and a **drift** \
classification.

# Conventions

- Bodies are JSON in UTF-8: one object is \`{"data": {…}}\`, a list \
\`{"data": […], "pagination": {…}}\`, a refusal \`{"error", "message", "details"}\`.
- Unknown fields and query parameters are refused, to detect typing errors.
- Times are RFC 3339. Requests may use any offset and up to nine fraction digits (cut to \
milliseconds); answers use UTC with \`Z\` and milliseconds.
- \`updated_at\` is the server's time of the last create, PATCH, cycle or reset.
- A known path with another method is 404 with \`Allow\`, also for HEAD.
- \`name\`, \`description\` and \`tags\` are counted in code points. Keys of \`tags\` are compared \
exactly. \`context\` has at most 8 KiB of JSON and 16 levels. Duplicate keys in one object are refused.

# Authentication

Every request has \`Authorization: Bearer svc_sk_…\`; other schemes are refused. The scope of a \
key has one or more words:

| Scope | Allows |
|---|---|
| \`full\` | everything of \`read\`, and changing instances |
| \`read\` | reading instances, and \`POST /test/submit\` |
| \`audit\` | reading the audit trail |
| \`billing\` | opening pages of the payment provider |

Without \`full\`, a call that changes an instance is 403 \`read_only_key\`; any other call outside \
the scope is 403 \`missing_scope\`. A key bound to networks is 403 \`address_not_allowed\` from \
elsewhere. A disabled key is 401, like an unknown key. Another account's instance is 404, exactly \
like an instance that does not exist.

# Cycles and throttling

One processed observation is one cycle, the unit of billing. A rolled back observation (drift \
\`D3\`) was processed and counts.

Observations of an instance are at least **1.000 s** apart, measured by \`timestamp\`, or by the \
time of arrival without one. An earlier observation is throttled, which is not an error: the \
answer is 200 with the previous state, \`X-Throttled: true\` and \`Retry-After\`; nothing \
advances and nothing is billed. With \`Prefer: handling=strict\` the answer is 429 \
\`throttled\` with \`Preference-Applied\`. To send several at once, use the batch or your own \
timestamps.

# Limits

${PLANS}

Every answer has \`X-RateLimit-Limit\`, \`-Remaining\`, \`-Reset\` and \`X-Monthly-Remaining\`. \
The IETF headers \`RateLimit\` and \`RateLimit-Policy\` are added.

- The minute is a fixed window of 60 s that starts with your first request. Every request with a \
valid key counts, also if refused, except \`rate_limited\` ones.
- The month is the calendar month in UTC. Only processed cycles are charged.
- Without a known caller (401, broken HTTP) the numbers are 0.
- If the limiter does not answer, the service fails closed: 503 with \`Retry-After: 2\`.
- After 30 refused keys in a minute from your address, keys without recent use are checked only \
occasionally. 503 \`too_many_refused_keys\` does not mean that your key is invalid: retry.

# Retrying safely

Send an \`Idempotency-Key\` with create, process, batch and reset. The same key and body within 24 \
hours get the stored answer with \`Idempotent-Replayed: true\`, without another cycle, even if the \
quota is used up. While the first call runs, the second waits for its answer. The same key with \
another body is 422 \`idempotency_key_reused\`. The key belongs to account and instance (for a \
create, to the account). Refusals and throttled answers are not stored; a retry decides again. \
**Use a UUIDv7 made in the last 10 seconds: it needs no look-up.** Other keys cost a read.

# Concurrent changes

Answers about one instance have its version as a strong \`ETag\`. \`If-Match\` on PATCH, DELETE \
and reset is an optimistic lock: another version is 409 \`version_mismatch\`. Without the header \
the last write wins. \`If-None-Match\` on GET answers 304 while nothing has changed. Processing \
ignores both.

# Pages

A page of history or drift has at most 1 MiB of records. A page of large records has fewer than \
\`limit\`, and \`has_more\` is true. The next page begins at \`offset\` plus the number of records \
received.

# Generations

A reset sets the cycle to 0 and begins a new generation. History and drift show the current \
generation; \`generation=all\` shows all, newest first. For past states, \`generation\` is the \
number of a generation, from 1.`;

const ERRORS = `\`error\` is a code of this table. \`message\` is for people and may change. \
\`details.field\` is the path of the error (\`observations[3].timestamp\`), \`details.reason\` a \
stable token. A 429 has \`retry_after\` in seconds; 500 and 503 have \`details.request_id\`. Order \
of refusals: broken HTTP, 401, limits (403, 429, 503), errors in the request (400, 413, 415, 422), \
404, 409, throttling. The table has all codes and reasons of this release.`;

/** Tags and their descriptions, in display order. Source: interface 1.4. */
export const TAGS = [
  { name: 'Instances', description: 'One instance is the personality of one agent.' },
  {
    name: 'Engine',
    description: 'Process observations; read state, contract and drift.',
  },
  { name: 'Events', description: 'What changes in all instances of the account.' },
  { name: 'Webhooks', description: 'Endpoints to which the service sends events.' },
  { name: 'Test', description: 'A personality test of 35 statements. Stateless; costs no cycle.' },
  { name: 'Personas', description: 'Twelve archetypes, to compare or to start an instance.' },
  { name: 'Account', description: 'The account of your key.' },
  { name: 'Billing', description: 'Buy and change plans at a payment provider.' },
] as const;

/** Query parameter descriptions, by name. */
export const QUERY_TEXTS: Readonly<Record<string, string>> = {
  limit: 'Maximum number of entries on the page.',
  prompt: 'Whether the answer has `prompt`, the contract as text for a language model.',
  stress: 'Only instances in these stress states, separated by commas.',
  drift: 'Only instances with these drift levels, separated by commas.',
  dominant_mode:
    'Only instances whose first dominant mode is one of these, separated by commas. `None`: all ' +
    'modes are weak.',
  tag:
    'Only instances with this tag: the parameter is `tag.` and the key, its value the value of ' +
    'the tag. Up to four tags, which an instance must all have.',
  search: 'Only instances whose name contains this text, in any case, or whose id equals it.',
  offset: 'Number of entries to skip: for the next page, all entries received so far.',
  sort: 'Field that orders the list.',
  order: 'Ascending or descending.',
  generation:
    'Only records since the last reset, or all. For past states: number of the generation; ' +
    'default: the present generation.',
  cycles: 'Cycles whose states are wanted: 1 to 10, separated by commas. Excludes `points`.',
  points: 'Maximum number of stored states.',
  version: 'Version of the API.',
  cursor: 'Start of the page: `next_cursor` of the previous page.',
  action: 'Action, or its first words: `key` matches `key.create` and all other actions on keys.',
  actor: 'Id of the key, user or token that acted.',
  target: 'Id of the object acted on.',
  outcome: 'Outcome in the line: `begun`, `done`, `repeated`, or the error code of a refusal.',
  from: 'No lines before this time (RFC 3339).',
  until: 'Only lines before this time (RFC 3339).',
  after: 'Id of the last event received; 0 for all events.',
  start:
    'Where to begin without a cursor: at the oldest event, or after the newest. Default: `oldest` ' +
    'for a page, `newest` for a stream.',
  types:
    'Wanted types, separated by commas. Default: all types but `contract_changed` and ' +
    '`mode_changed`.',
  wait: 'Time to wait for an event if there is none, in seconds.',
};

/** Meaning of each refusal status. */
export const STATUS_TEXTS: Readonly<Record<number, string>> = {
  400: 'The body is not JSON, or a parameter or header is invalid.',
  401: 'The API key is missing or not valid.',
  403: 'The key is valid but does not allow this call.',
  404: 'Your account has no object with this id, or it was deleted; or the cycle does not exist.',
  408: 'The request took too long to arrive.',
  409: 'The state of the instance does not allow this call.',
  410: 'No longer kept: `details.reason` shows what.',
  413: 'The body is too large: 256 KiB for a batch or a notification, 32 KiB elsewhere.',
  414: 'A part of the URL is too long.',
  415: 'The body must be `application/json` in UTF-8.',
  417: 'The only supported expectation is `100-continue`.',
  422: 'The body breaks a rule: `details.field` names the place, `details.reason` the rule.',
  429: 'A limit is reached. Retry after `retry_after` seconds.',
  431: 'The headers are larger than 8 KiB.',
  500: 'Server error. Retry with backoff; report `details.request_id`.',
  503: 'Not available. Retry after `Retry-After` seconds, with an `Idempotency-Key` for changes.',
  505: 'HTTP/1.1 is the oldest supported version.',
};

/** Meaning of each error code, for the catalog. Source: interface 7. */
const CODE_TEXTS: Readonly<Record<FaultCode, string>> = {
  unauthorized: 'API key missing or not valid.',
  forbidden: 'The key is valid but does not allow this call.',
  not_found: 'The instance, persona or endpoint does not exist.',
  invalid_request: 'The request does not match the documentation.',
  conflict: 'The state does not allow this call.',
  throttled: 'The observation is too early, with `Prefer: handling=strict`.',
  rate_limited: 'Requests of this minute are used up; `details.alias` is `rate_limit_exceeded`.',
  quota_exceeded: 'Cycles of this month are used up, or fewer remain than the batch needs.',
  service_unavailable: 'Not available; retry. `details.reason` shows if the outcome is known.',
  internal: 'Server error; retry with backoff.',
  billing_provider_not_configured: 'The payment provider is not set up.',
  webhook_verification_failed: 'The signature of a payment notification is wrong.',
  invalid_plan: 'Plan that cannot be bought; use `indie` or `pro`.',
};

/** The error catalog as a Markdown table: status, code, reasons. Source: interface 7. */
function catalogTable(): string {
  const reasons = Object.keys(REASONS) as FaultReason[];
  const rows = (Object.keys(FAULTS) as FaultCode[]).flatMap((code) => {
    const own = reasons.filter((reason) => REASONS[reason].code === code);
    const plain = FAULTS[code].http;
    const byStatus = Map.groupBy(own, (reason) => httpOfReason(reason) ?? plain);
    const statuses = byStatus.size === 0 ? [[plain, []] as const] : [...byStatus];
    return statuses.map(([status, tokens]) => {
      const named = tokens.map((token) => `\`${token}\``).join(', ');
      const when = code === 'invalid_request' ? STATUS_TEXTS[status] : CODE_TEXTS[code];
      return `| ${status} | \`${code}\`: ${when} | ${named} |`;
    });
  });
  return ['| HTTP | `error` | `details.reason` |', '|---|---|---|', ...rows].join('\n');
}
