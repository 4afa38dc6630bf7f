import type { Endpoint } from '#edge/endpoints/endpoint';
import { FAULTS, type FaultCode } from '#errors/error-codes';
import { codeOfReason, type FaultReason, httpOfReason } from '#errors/error-reasons';

/** A refusal that an endpoint may send. */
type Refusal = { readonly code: FaultCode; readonly reason: FaultReason | undefined };

/** An endpoint's refusals with the same HTTP status. */
export type RefusalsOfStatus = {
  readonly status: number;
  readonly codes: readonly FaultCode[];
  readonly reasons: readonly FaultReason[];
};

/** Reasons that apply to every request. Source: decisions 24, 35 and 159. */
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

/** Reasons in `ANYWHERE` that apply only to endpoints with a key. */
const OF_KEYS: ReadonlySet<FaultReason> = new Set([
  'unknown_parameter',
  'address_not_allowed',
  'account_suspended',
  'too_many_refused_keys',
]);

/** Syntax errors in a body, found before its fields are checked. Source: decision 2. */
const SYNTAX: readonly FaultReason[] = ['malformed_json', 'duplicate_key', 'invalid_utf8'];

/** Reasons that apply only to requests with a body. */
const TRANSFER: readonly FaultReason[] = [
  'body_too_large',
  'unsupported_media_type',
  'too_many_unfinished_bodies',
];

/** Kinds of handlers that ask an engine. */
const OF_ENGINE: ReadonlySet<string> = new Set(['engine', 'stream', 'feed']);

/** Field errors that any body can have. */
const ANY_BODY: readonly FaultReason[] = [
  'unknown_field',
  'wrong_type',
  'too_deep',
  'invalid_text',
];

/** An endpoint's refusals, grouped by status in ascending order. */
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

/** A refusal's HTTP status: from its reason, else from its code. */
export function statusOf({ code, reason }: Refusal): number {
  return httpOfReason(reason) ?? FAULTS[code].http;
}

/** The refusal with this reason and the reason's code. */
export function refusalFor(reason: FaultReason): Refusal {
  return { code: codeOfReason(reason), reason };
}

/** Refusals that have a code but no reason. */
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
  // The endpoint takes the raw body and checks its signature before its fields.
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
  if (!OF_ENGINE.has(handler.kind)) return reasons;
  // A call repeated after a fail-over may find no stored answer.
  if (method !== 'GET') reasons.push('outcome_unknown');
  return [...reasons, 'engine_unavailable', 'deadline_exceeded', 'upgrade_in_progress'];
}

/** Reasons for keys without the required scope; empty if every key may call. */
function reasonsOfScope(scope: Endpoint['scope']): FaultReason[] {
  if (scope === 'any' || scope === 'none') return [];
  return [scope === 'full' ? 'read_only_key' : 'missing_scope'];
}

/** An endpoint's query parameters, by name. */
export function queryFieldsOf({ query }: Endpoint): Readonly<Record<string, unknown>> {
  return 'shape' in query ? (query.shape as Record<string, unknown>) : {};
}
