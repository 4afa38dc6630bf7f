import { FAULTS, type FaultCode } from '#fault/error-codes';
import { type FaultReason, httpOfReason, REASONS } from '#fault/error-reasons';

/** What the tags stand for, in the order in which readers show them. Source: interface 1.4. */
export const TAGS = [
  { name: 'Instances', description: 'One instance is the personality of one agent.' },
  {
    name: 'Engine',
    description: 'Observations go in; state, contract and drift come out.',
  },
  { name: 'Test', description: 'A personality test of 35 items. Stateless; costs no cycle.' },
  { name: 'Personas', description: 'Twelve archetypes to compare with or to start from.' },
  { name: 'Account', description: 'The account that your key belongs to.' },
  { name: 'Billing', description: 'Plans are bought from a payment provider.' },
] as const;

/** What the query parameters mean, by name. */
export const QUERY_TEXTS: Readonly<Record<string, string>> = {
  limit: 'How many entries the page has at most.',
  search:
    'Only instances whose name has this text in it, in whatever case, or whose id it is; `total` counts these.',
  offset: 'How many entries to skip: for the next page, those of this one and of all before it.',
  sort: 'What to order by.',
  order: 'Ascending or descending.',
  generation: 'Records since the last reset only, or all there are.',
  version: 'Version of the API.',
  cursor: 'Where to go on: the `next_cursor` of the page before.',
  action: 'What was done, or the first words of it: `key` is `key.create` and all others on keys.',
  actor: 'Id of the key, user or token that did it.',
  target: 'Id of what it was done to.',
  outcome:
    'What the line says of its action: `begun`, `done`, `repeated`, or the code of a refusal.',
  from: 'No lines before this time (RFC 3339).',
  until: 'Only lines before this time (RFC 3339).',
  after: 'Id of the last event that you have; 0 for all of them.',
};

/** What a status means, for the refusals of every endpoint. */
export const STATUS_TEXTS: Readonly<Record<number, string>> = {
  400: 'The body is not JSON, or a parameter or header is not as documented.',
  401: 'The API key is missing or not valid.',
  403: 'The key is valid and may not do this.',
  404: 'There is nothing of this id in your account, or it was deleted.',
  408: 'The request took too long to arrive.',
  409: 'The state of the instance does not allow this, or no longer.',
  413: 'The body is too large: 256 KiB for a batch or a notification, 32 KiB elsewhere.',
  414: 'A part of the URL is too long.',
  415: 'A body is `application/json` in UTF-8, and nothing else.',
  417: 'No expectation but `100-continue` is met.',
  422: 'The body is JSON and breaks a rule; `details.field` says where, `details.reason` which.',
  429: 'Too much for now; `retry_after` says for how many seconds.',
  431: 'The headers are larger than 8 KiB.',
  500: 'Our fault. Retry with backoff; `details.request_id` helps us to find it.',
  503: 'Not now. Retry after `Retry-After`; with an `Idempotency-Key` nothing happens twice.',
  505: 'HTTP/1.1 is the oldest version served.',
};

/** What a code means, in the catalog. Source: interface 7. */
const CODE_TEXTS: Readonly<Record<FaultCode, string>> = {
  unauthorized: 'API key missing or not valid.',
  forbidden: 'The key is valid and may not do this.',
  not_found: 'No such instance, persona or endpoint.',
  invalid_request: 'The request is not as documented.',
  conflict: 'The state does not allow it.',
  throttled: 'An observation too early, with `Prefer: handling=strict`.',
  rate_limited: 'Requests of this minute used up; `details.alias` is `rate_limit_exceeded`.',
  quota_exceeded: 'Cycles of this month used up, or fewer left than the batch needs.',
  service_unavailable: 'Refused before anything was certain; retry.',
  internal: 'Server error; retry with backoff.',
  billing_provider_not_configured: 'The payment provider is not set up.',
  webhook_verification_failed: "A payment provider's notification with a wrong signature.",
  invalid_plan: 'No such plan; `free`, `indie` and `pro` can be chosen.',
};

/** The whole catalog as a Markdown table: status, code, reasons. Source: decision 36. */
export function catalogTable(): string {
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
