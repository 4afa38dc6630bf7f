import type { Endpoint } from '#edge/endpoints/endpoint';
import { FAULTS, type FaultCode } from '#fault/error-codes';
import { codeOfReason, type FaultReason, httpOfReason } from '#fault/error-reasons';

/** One way in which an endpoint can be refused. */
type Refusal = { readonly code: FaultCode; readonly reason: FaultReason | undefined };

/** All refusals of an endpoint that share an HTTP status. */
export type RefusalsOfStatus = {
  readonly status: number;
  readonly codes: readonly FaultCode[];
  readonly reasons: readonly FaultReason[];
};

/** What any request may meet, whatever it asks for. Source: decisions 24, 35 and 159. */
const ANYWHERE: readonly FaultReason[] = [
  'malformed_request',
  'unknown_parameter',
  'request_timeout',
  'expectation_failed',
  'headers_too_large',
  'http_version_not_supported',
  'address_not_allowed',
  'account_suspended',
  'limiter_unavailable',
  'too_many_refused_keys',
  'overloaded',
  'shutting_down',
];

/** What of it only a request with a key can meet, or one whose query is looked at. */
const OF_KEYS: ReadonlySet<FaultReason> = new Set([
  'unknown_parameter',
  'address_not_allowed',
  'account_suspended',
  'too_many_refused_keys',
]);

/** What is wrong with the bytes of a body before its fields are checked. Source: decision 2. */
const SYNTAX: readonly FaultReason[] = ['malformed_json', 'duplicate_key', 'invalid_utf8'];

/** What only a request with a body can meet. */
const TRANSFER: readonly FaultReason[] = [
  'body_too_large',
  'unsupported_media_type',
  'too_many_unfinished_bodies',
];

/** What every body can break. */
const ANY_BODY: readonly FaultReason[] = [
  'unknown_field',
  'wrong_type',
  'too_deep',
  'invalid_text',
];

/** Every refusal that an endpoint can answer, by status, ascending. */
export function refusalsOf(endpoint: Endpoint): RefusalsOfStatus[] {
  const rows: Refusal[] = [...plainRefusals(endpoint), ...reasonsOf(endpoint).map(refusalFor)];
  const byStatus = Map.groupBy(rows, statusOf);
  return [...byStatus]
    .sort(([a], [b]) => a - b)
    .map(([status, refusals]) => ({
      status,
      codes: [...new Set(refusals.map(({ code }) => code))],
      reasons: [...new Set(refusals.flatMap(({ reason }) => reason ?? []))],
    }));
}

/** The HTTP status of a refusal: the code's own, unless its reason says otherwise. */
export function statusOf({ code, reason }: Refusal): number {
  return httpOfReason(reason) ?? FAULTS[code].http;
}

/** A reason with the code that it belongs to. */
export function refusalFor(reason: FaultReason): Refusal {
  return { code: codeOfReason(reason), reason };
}

/** Refusals whose code says all. */
function plainRefusals(endpoint: Endpoint): Refusal[] {
  const { scope, refusalCodes } = endpoint;
  const ofKeys: FaultCode[] = scope === 'none' ? [] : ['unauthorized', 'rate_limited'];
  const codes: FaultCode[] = [...ofKeys, 'internal', ...refusalCodes];
  if (endpoint.pathId !== undefined) codes.push('not_found');
  if (endpoint.isBilled) codes.push('quota_exceeded');
  return codes.map((code) => ({ code, reason: undefined }));
}

function reasonsOf(endpoint: Endpoint): FaultReason[] {
  if (endpoint.scope !== 'none') return reasonsOfCall(endpoint);
  // Its body is bytes until its signature is known to be good.
  const anywhere = ANYWHERE.filter((reason) => !OF_KEYS.has(reason));
  return [...anywhere, ...TRANSFER, ...endpoint.refusals];
}

function reasonsOfCall(endpoint: Endpoint): FaultReason[] {
  const { method, pathId, body, isKeyed, isGuarded, isBilled, scope } = endpoint;
  const { refusals, handler, auditedAs } = endpoint;
  const reasons = [...ANYWHERE];
  const hasQuery = Object.keys(queryFieldsOf(endpoint)).length > 0;
  if (hasQuery) reasons.push('invalid_parameter');
  if (isKeyed || isGuarded) reasons.push('invalid_header');
  if (pathId !== undefined) reasons.push('uri_too_long');
  reasons.push(...reasonsOfScope(scope));
  if (method !== 'GET') reasons.push(...TRANSFER);
  if (body !== undefined) reasons.push(...SYNTAX);
  reasons.push(...refusals);
  if (body !== undefined) reasons.push(...ANY_BODY);
  if (isKeyed) reasons.push('idempotency_key_reused');
  if (isGuarded) reasons.push('version_mismatch');
  if (isBilled) reasons.push('min_cycle_interval');
  if (auditedAs !== undefined) reasons.push('audit_unavailable', 'audit_full');
  if (handler.kind !== 'engine' && handler.kind !== 'stream') return reasons;
  // A call that is made again after a fail-over may find that its answer is gone.
  if (method !== 'GET') reasons.push('outcome_unknown');
  return [...reasons, 'engine_unavailable', 'deadline_exceeded', 'upgrade_in_progress'];
}

/** The refusal of keys whose scope is not enough; none where every key is. */
function reasonsOfScope(scope: Endpoint['scope']): FaultReason[] {
  if (scope === 'any' || scope === 'none') return [];
  return [scope === 'full' ? 'read_only_key' : 'missing_scope'];
}

/** The query parameters of an endpoint, by name. */
export function queryFieldsOf({ query }: Endpoint): Readonly<Record<string, unknown>> {
  return 'shape' in query ? (query.shape as Record<string, unknown>) : {};
}
