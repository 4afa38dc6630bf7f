import { isBilled, isLocal } from '#edge/openapi-traits';
import type { Operation } from '#edge/operation';
import { FAULTS, type FaultCode } from '#fault/fault';
import { type FaultReason, httpOfReason, REASONS } from '#fault/reasons';

/** One way in which an operation can be refused. */
export type Refusal = { readonly code: FaultCode; readonly reason: FaultReason | undefined };

/** All refusals of an operation that share an HTTP status. */
export type RefusalsOfStatus = {
  readonly status: number;
  readonly codes: readonly FaultCode[];
  readonly reasons: readonly FaultReason[];
};

/** What any request may meet, whatever it asks for. Source: decisions 24, 35, 36 and 159. */
const ANYWHERE: readonly FaultReason[] = [
  'malformed_request',
  'unknown_parameter',
  'request_timeout',
  'expectation_failed',
  'headers_too_large',
  'http_version_not_supported',
  'account_suspended',
  'limiter_unavailable',
  'too_many_refused_keys',
  'overloaded',
  'shutting_down',
];

/** What is wrong with the bytes of a body before anybody looks at its fields. Source: decision 2. */
const SYNTAX: readonly FaultReason[] = ['malformed_json', 'duplicate_key', 'invalid_utf8'];

/** What only whoever sends a body can meet. */
const TRANSFER: readonly FaultReason[] = [
  'body_too_large',
  'unsupported_media_type',
  'too_many_unfinished_bodies',
];

/** The field rules that a body can break, by operation; what every body can break is added. */
const FIELD_RULES: Readonly<Record<string, readonly FaultReason[]>> = {
  createInstance: ['missing_field', 'out_of_range', 'too_short', 'too_long', 'invalid_text'],
  updateInstance: ['too_short', 'too_long', 'invalid_text'],
  processObservation: [
    'missing_field',
    'out_of_range',
    'unknown_value',
    'too_long',
    'invalid_timestamp',
    'timestamp_in_future',
  ],
  processBatch: [
    'missing_field',
    'out_of_range',
    'unknown_value',
    'too_short',
    'too_long',
    'invalid_timestamp',
    'timestamp_in_future',
    'timestamp_order',
    'timestamps_mixed',
  ],
  resetInstance: ['missing_field', 'unknown_value'],
  submitTest: [
    'missing_field',
    'out_of_range',
    'unknown_value',
    'too_long',
    'unknown_question',
    'duplicate_question',
    'too_few_answers',
  ],
};

const ANY_BODY: readonly FaultReason[] = ['unknown_field', 'wrong_type', 'too_deep'];

/** Every refusal that an operation can answer, by status, ascending. */
export function refusalsOf(operation: Operation): RefusalsOfStatus[] {
  const rows: Refusal[] = [...plainRefusals(operation), ...reasonsOf(operation).map(refusalFor)];
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
  return { code: REASONS[reason].code, reason };
}

/** Refusals whose code says all. */
function plainRefusals(operation: Operation): Refusal[] {
  const codes: FaultCode[] = ['unauthorized', 'rate_limited', 'internal'];
  if (operation.path.includes(':id')) codes.push('not_found');
  if (isBilled(operation)) codes.push('quota_exceeded');
  return codes.map((code) => ({ code, reason: undefined }));
}

function reasonsOf(operation: Operation): FaultReason[] {
  const { method, name, path, body, isKeyed, isGuarded, scope } = operation;
  const reasons = [...ANYWHERE];
  const hasQuery = Object.keys(queryFieldsOf(operation)).length > 0;
  if (hasQuery) reasons.push('invalid_parameter');
  if (isKeyed || isGuarded) reasons.push('invalid_header');
  if (path.includes(':id')) reasons.push('uri_too_long');
  if (scope === 'full') reasons.push('read_only_key');
  if (method !== 'GET') reasons.push(...TRANSFER);
  if (body !== undefined) {
    const rules = FIELD_RULES[name];
    if (rules === undefined) throw new Error(`${name}: which rules can its body break?`);
    reasons.push(...SYNTAX, ...rules, ...ANY_BODY);
  }
  if (isKeyed) reasons.push('idempotency_key_reused');
  if (isGuarded) reasons.push('version_mismatch');
  if (name === 'createInstance') reasons.push('instance_limit', 'deleted', 'already_exists');
  if (isBilled(operation)) reasons.push('min_cycle_interval');
  if (isLocal(operation)) return reasons;
  // A call that is made again after a fail-over may find that its answer is gone.
  if (method !== 'GET') reasons.push('outcome_unknown');
  return [...reasons, 'engine_unavailable', 'deadline_exceeded'];
}

/** The query parameters of an operation, by name. */
export function queryFieldsOf({ query }: Operation): Readonly<Record<string, unknown>> {
  return 'shape' in query ? (query.shape as Record<string, unknown>) : {};
}
