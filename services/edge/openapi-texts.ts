import { FAULTS, type FaultCode } from '#fault/fault';
import { type FaultReason, httpOfReason, REASONS } from '#fault/reasons';

/** What the tags stand for, in the order in which readers show them. Source: spec 1.4. */
export const TAGS = [
  { name: 'Instances', description: 'One instance is the personality of one agent.' },
  {
    name: 'Engine',
    description: 'Observations go in; state, contract and drift come out.',
  },
  { name: 'Test', description: 'A personality test of 35 items. Stateless; costs no cycle.' },
  { name: 'Personas', description: 'Twelve archetypes to compare with or to start from.' },
] as const;

/** What an operation promises beyond its summary, by name. */
export const OPERATION_TEXTS: Readonly<Record<string, string>> = {
  createInstance:
    'Strengths that `initial_config` leaves out are 0, energy is 0.8. The answer names the new ' +
    'instance in `Location`. With an `Idempotency-Key` the id follows from the key; using the key ' +
    'again within 24 hours after its instance was deleted is 409 `deleted`.',
  listInstances:
    'Ordered by `created_at` (ties by id) or by `name` (by code point; ties by `created_at`, then ' +
    'id). A parameter out of range is refused with 400, never clamped.',
  getInstance: 'An id of the wrong form is answered exactly like one that does not exist.',
  updateInstance:
    'Only `name` and `description` can be changed; any other field is refused with 422.',
  deleteInstance:
    'Removes the instance with its history and its drift events. It cannot be undone. ' +
    '`Prefer: return=minimal` answers 204 without a body.',
  processObservation:
    'Advances the instance by one cycle and bills it. An observation less than 1.000 s after the ' +
    'previous one changes nothing and costs nothing: the answer is 200 with the previous state, ' +
    '`X-Throttled: true` and `Retry-After`, or 429 with `Prefer: handling=strict`. Send ' +
    '`timestamp` to be measured by your own clock. A `timestamp` may lie in the past, even before ' +
    'the instance was created, and at most 300 s in the future.',
  processBatch:
    '1 to 100 observations, at most 256 KiB, checked as a whole, applied as one unit: all or ' +
    'nothing. Costs one request and one cycle for each observation. Either all carry `timestamp`, ' +
    'ascending and at least 1.000 s apart, or none does; then they are spaced 1 s, ending now ' +
    'where there is room. If the first comes too early, the whole batch is throttled: 200 with ' +
    '`processed_count: 0`, or 429 with `Prefer: handling=strict`. `include_intermediate` answers ' +
    'every state in `states`.',
  getSnapshot: 'Processes nothing.',
  getContract:
    'Which actions are allowed and forbidden now, and in which style. Processes nothing.',
  resetInstance:
    '`initial` goes back to the state the instance was created with, `default` to its last stable ' +
    'checkpoint (or, without one, to the initial state). Either way the cycle is 0 and a new ' +
    'generation begins; the records of older ones stay readable with `generation=all`.',
  getHistory:
    'Records of the current generation, or with `generation=all` of every generation since the ' +
    'instance was created, each with its `generation`.',
  getDrift:
    'One event for every cycle that was not `D0`. Without `limit` and `offset` the newest 1,000, ' +
    'and `pagination` carries only `total`; with either of them all four fields.',
  submitTest:
    'Scores the answers and keeps nothing. `initial_config` of the result can be posted to ' +
    '`/instances` unchanged. A read-only key may do this.',
  getQuestions: 'The items in the order in which they are to be asked.',
  listPersonas: 'All of them; the list has one page.',
  getPersona: '`mode_profile` has the keys of `mode_strengths`, so the two compare key by key.',
};

/** What the query parameters mean, by name. */
export const QUERY_TEXTS: Readonly<Record<string, string>> = {
  limit: 'How many entries the page has at most.',
  offset: 'How many entries to skip: for the next page, those of this one and of all before it.',
  sort: 'What to order by.',
  order: 'Ascending or descending.',
  generation: 'Records since the last reset only, or all there are.',
  version: 'Version of the API.',
};

/** What a status means, for the refusals of every operation. */
export const STATUS_TEXTS: Readonly<Record<number, string>> = {
  400: 'The body is not JSON, or a parameter or header is not as documented.',
  401: 'The API key is missing or not valid.',
  403: 'The key is valid and may not do this.',
  404: 'There is nothing of this id in your account, or it was deleted.',
  408: 'The request took too long to arrive.',
  409: 'The state of the instance does not allow this, or no longer.',
  413: 'The body is too large: 256 KiB for a batch, 32 KiB elsewhere.',
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

/** What a code means, in the catalog. Source: spec 7. */
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
