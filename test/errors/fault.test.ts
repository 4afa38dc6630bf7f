import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { FAULTS } from '#errors/error-codes';
import {
  CONSOLE_REASONS,
  type FaultReason,
  httpOfReason,
  PEER_REASONS,
  REASONS,
} from '#errors/error-reasons';
import { Fault, invalid, toFault } from '#errors/fault';

/** HTTP status of each error code. Source: interface 7, decision 2. */
const STATUSES: Record<keyof typeof FAULTS, number> = {
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  invalid_request: 422,
  conflict: 409,
  throttled: 429,
  rate_limited: 429,
  quota_exceeded: 429,
  service_unavailable: 503,
  internal: 500,
  billing_provider_not_configured: 500,
  webhook_verification_failed: 400,
  invalid_plan: 422,
};

/**
 * Reasons whose status differs from the status of their code: syntax and HTTP itself (decision 2).
 */
const STATUSES_OF_REASONS: Partial<Record<FaultReason, number>> = {
  malformed_json: 400,
  duplicate_key: 400,
  invalid_utf8: 400,
  body_too_large: 413,
  unsupported_media_type: 415,
  invalid_parameter: 400,
  unknown_parameter: 400,
  invalid_header: 400,
  malformed_request: 400,
  request_timeout: 408,
  uri_too_long: 414,
  expectation_failed: 417,
  headers_too_large: 431,
  http_version_not_supported: 505,
  cycle_trimmed: 410,
  cursor_expired: 410,
};

/** Highest gRPC status code. Status 0 means OK. */
const GRPC_STATUS_MAX = 16;

const reasons = Object.keys(REASONS) as FaultReason[];

const catalog = suite('the catalog of refusals');

catalog('has the documented status for every code', () => {
  const found = Object.entries(FAULTS).map(([code, { http }]) => [code, http]);
  assert.equal(Object.fromEntries(found), STATUSES);
});

catalog('names an existing code for every reason', () => {
  for (const reason of reasons) assert.ok(REASONS[reason].code in FAULTS, reason);
});

catalog('overrides the status of exactly the documented reasons', () => {
  const moved = reasons.flatMap((reason) => {
    const http = httpOfReason(reason);
    return http === undefined ? [] : [[reason, http]];
  });
  assert.equal(Object.fromEntries(moved), STATUSES_OF_REASONS);
});

catalog('has stable tokens for reasons and codes', () => {
  for (const token of [...reasons, ...Object.keys(FAULTS)])
    assert.match(token, /^[a-z]+(_[a-z0-9]+)*$/);
});

catalog('has a gRPC error status for every code', () => {
  for (const [code, { grpc }] of Object.entries(FAULTS)) {
    assert.ok(grpc > 0 && grpc <= GRPC_STATUS_MAX, code);
  }
});

catalog(
  'declares codes as retryable if a retry may succeed, and never after a mistake of the caller',
  () => {
    const retryable = Object.entries(FAULTS).flatMap(([code, row]) =>
      row.isRetryable ? [code] : [],
    );
    assert.equal(retryable, [
      'conflict',
      'throttled',
      'rate_limited',
      'service_unavailable',
      'internal',
    ]);
  },
);

const refusal = suite('a refusal');

refusal('has the status of its code or its reason', () => {
  assert.is(new Fault('conflict', 'x').httpStatus, 409);
  assert.is(new Fault('conflict', 'x', { reason: 'version_mismatch' }).httpStatus, 409);
  assert.is(new Fault('invalid_request', 'x').httpStatus, 422);
  assert.is(invalid('out_of_range', 'limit', 'x').httpStatus, 422);
  assert.is(invalid('invalid_parameter', 'limit', 'x').httpStatus, 400);
  for (const reason of reasons) {
    const { code } = REASONS[reason];
    const expected = STATUSES_OF_REASONS[reason] ?? STATUSES[code];
    assert.is(new Fault(code, 'x', { reason }).httpStatus, expected, reason);
  }
});

refusal('keeps all fields with which it was created', () => {
  const cause = new Error('secret');
  const options = {
    reason: 'overloaded',
    field: 'f',
    mode: 'order',
    retryAfterS: 3,
    cause,
  } as const;
  const fault = new Fault('service_unavailable', 'too much', {
    ...options,
    isOutcomeUnknown: true,
  });
  assert.is(fault.message, 'too much');
  for (const [name, value] of Object.entries(options)) {
    assert.is(fault[name as keyof typeof options], value);
  }
  assert.ok(fault.isOutcomeUnknown);
  assert.not(new Fault('conflict', 'x').isOutcomeUnknown);
});

refusal('names the owner of the shard if its reason is not_owner, and has status 503', () => {
  const owner = { incarnation: 'inc_1', address: 'host:1', epoch: 3 };
  const fault = new Fault('service_unavailable', 'not mine', { reason: 'not_owner', owner });
  assert.equal(fault.owner, owner);
  assert.is(fault.httpStatus, 503);
  assert.is(PEER_REASONS.not_owner.code, fault.code);
  assert.is(new Fault('conflict', 'x').owner, undefined);
});

catalog('has no reason for other nodes or for the console among the reasons for callers', () => {
  for (const reason of Object.keys({ ...PEER_REASONS, ...CONSOLE_REASONS })) {
    assert.not.ok(reason in REASONS, reason);
  }
});

refusal('has no field if no field is given', () => {
  assert.is(invalid('malformed_json', undefined, 'x').field, undefined);
});

const bug = suite('a thrown value');

bug('becomes an internal error without its own text if it is not a refusal', () => {
  for (const thrown of [new TypeError('password'), 'password', undefined, { code: 'conflict' }]) {
    const fault = toFault(thrown);
    assert.equal([fault.code, fault.httpStatus], ['internal', 500]);
    assert.not.match(fault.message, /password/);
    assert.is(fault.cause, thrown);
  }
});

bug('stays unchanged if it is a refusal', () => {
  const fault = new Fault('conflict', 'x');
  assert.is(toFault(fault), fault);
});

for (const group of [catalog, refusal, bug]) group.run();
