import { FAULTS, type FaultCode } from '#fault/error-codes';
import { type FaultReason, httpOfReason, REASONS } from '#fault/error-reasons';

/** Tags and their descriptions, in display order. Source: interface 1.4. */
export const TAGS = [
  { name: 'Instances', description: 'One instance is the personality of one agent.' },
  {
    name: 'Engine',
    description: 'Process observations; read state, contract and drift.',
  },
  { name: 'Test', description: 'A personality test of 35 statements. Stateless; costs no cycle.' },
  { name: 'Personas', description: 'Twelve archetypes for comparison or as a start.' },
  { name: 'Account', description: 'The account of your key.' },
  { name: 'Billing', description: 'Buy and change plans at a payment provider.' },
] as const;

/** Descriptions of query parameters, by name. */
export const QUERY_TEXTS: Readonly<Record<string, string>> = {
  limit: 'Maximum number of entries on the page.',
  search: 'Only instances whose name contains this text, in any case, or whose id equals it.',
  offset: 'Number of entries to skip: for the next page, all entries received so far.',
  sort: 'Field that orders the list.',
  order: 'Ascending or descending.',
  generation: 'Only records since the last reset, or all.',
  version: 'Version of the API.',
  cursor: 'Start of the page: `next_cursor` of the previous page.',
  action: 'Action, or its first words: `key` matches `key.create` and all other actions on keys.',
  actor: 'Id of the key, user or token that acted.',
  target: 'Id of the object acted on.',
  outcome: 'Outcome of the line: `begun`, `done`, `repeated`, or the code of a refusal.',
  from: 'No lines before this time (RFC 3339).',
  until: 'Only lines before this time (RFC 3339).',
  after: 'Id of the last event received; 0 for all events.',
};

/** Meaning of each status of a refusal. */
export const STATUS_TEXTS: Readonly<Record<number, string>> = {
  400: 'The body is not JSON, or a parameter or header is invalid.',
  401: 'The API key is missing or not valid.',
  403: 'The key is valid but does not allow this call.',
  404: 'Your account has no object with this id, or it was deleted.',
  408: 'The request took too long to arrive.',
  409: 'The state of the instance does not allow this call.',
  413: 'The body is too large: 256 KiB for a batch or a notification, 32 KiB elsewhere.',
  414: 'A part of the URL is too long.',
  415: 'The body must be `application/json` in UTF-8.',
  417: 'The only supported expectation is `100-continue`.',
  422: 'The body breaks a rule: `details.field` names the place, `details.reason` the rule.',
  429: 'A limit is reached; retry after `retry_after` seconds.',
  431: 'The headers are larger than 8 KiB.',
  500: 'Server error. Retry with backoff; report `details.request_id`.',
  503: 'Not available. Retry after `Retry-After`; with an `Idempotency-Key` nothing happens twice.',
  505: 'HTTP/1.1 is the oldest supported version.',
};

/** Meaning of each error code, for the catalog. Source: interface 7. */
const CODE_TEXTS: Readonly<Record<FaultCode, string>> = {
  unauthorized: 'API key missing or not valid.',
  forbidden: 'The key is valid but does not allow this call.',
  not_found: 'No such instance, persona or endpoint.',
  invalid_request: 'The request is not as documented.',
  conflict: 'The state does not allow this call.',
  throttled: 'The observation is too early, with `Prefer: handling=strict`.',
  rate_limited: 'Requests of this minute are used up; `details.alias` is `rate_limit_exceeded`.',
  quota_exceeded: 'Cycles of this month are used up, or fewer remain than the batch needs.',
  service_unavailable: 'Not available; retry. The reason shows if the outcome is known.',
  internal: 'Server error; retry with backoff.',
  billing_provider_not_configured: 'The payment provider is not set up.',
  webhook_verification_failed: 'The signature of a payment notification is wrong.',
  invalid_plan: 'Plan that cannot be bought; use `indie` or `pro`.',
};

/** The catalog of errors as a Markdown table: status, code, reasons. Source: interface 7. */
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
