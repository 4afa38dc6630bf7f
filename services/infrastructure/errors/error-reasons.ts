import type { FaultCode } from '#errors/error-codes';

/** Code of a reason, and the HTTP status if it differs from the status of the code. */
type ReasonRow = { readonly code: FaultCode; readonly http?: number };

/**
 * All values of `details.reason` (a closed set). Each row has the error code of the reason, and the
 * HTTP status if it differs from the status of the code. The API document lists the same rows.
 */
export const REASONS = {
  // syntax of the body, decision 2
  malformed_json: { code: 'invalid_request', http: 400 },
  duplicate_key: { code: 'invalid_request', http: 400 },
  invalid_utf8: { code: 'invalid_request', http: 400 },
  body_too_large: { code: 'invalid_request', http: 413 },
  unsupported_media_type: { code: 'invalid_request', http: 415 },
  // fields of the body, decisions 2 and 8
  missing_field: { code: 'invalid_request' },
  unknown_field: { code: 'invalid_request' },
  wrong_type: { code: 'invalid_request' },
  out_of_range: { code: 'invalid_request' },
  unknown_value: { code: 'invalid_request' },
  too_short: { code: 'invalid_request' },
  too_long: { code: 'invalid_request' },
  too_deep: { code: 'invalid_request' },
  invalid_text: { code: 'invalid_request' },
  invalid_timestamp: { code: 'invalid_request' },
  timestamp_in_future: { code: 'invalid_request' },
  timestamp_order: { code: 'invalid_request' },
  timestamps_mixed: { code: 'invalid_request' },
  unknown_question: { code: 'invalid_request' },
  duplicate_question: { code: 'invalid_request' },
  too_few_answers: { code: 'invalid_request' },
  idempotency_key_reused: { code: 'invalid_request' },
  // query and headers, decision 2
  invalid_parameter: { code: 'invalid_request', http: 400 },
  unknown_parameter: { code: 'invalid_request', http: 400 },
  // position in the events of an account that can no longer be continued
  cursor_expired: { code: 'invalid_request', http: 410 },
  invalid_header: { code: 'invalid_request', http: 400 },
  // HTTP itself
  malformed_request: { code: 'invalid_request', http: 400 },
  request_timeout: { code: 'invalid_request', http: 408 },
  uri_too_long: { code: 'invalid_request', http: 414 },
  expectation_failed: { code: 'invalid_request', http: 417 },
  headers_too_large: { code: 'invalid_request', http: 431 },
  http_version_not_supported: { code: 'invalid_request', http: 505 },
  // access rights, decisions 242 and 310
  address_not_allowed: { code: 'forbidden' },
  read_only_key: { code: 'forbidden' },
  missing_scope: { code: 'forbidden' },
  account_suspended: { code: 'forbidden' },
  // limits of a plan, decision 154
  instance_limit: { code: 'forbidden' },
  // webhook endpoints, decision 321
  webhook_limit: { code: 'forbidden' },
  endpoint_refused: { code: 'invalid_request' },
  // maximum lines of an audit trail in a month, decision 249
  audit_full: { code: 'quota_exceeded' },
  // event streams, decision 244
  too_many_streams: { code: 'rate_limited' },
  // state, decisions 21 and 22
  too_many_tags: { code: 'conflict' },
  version_mismatch: { code: 'conflict' },
  already_exists: { code: 'conflict' },
  deleted: { code: 'conflict' },
  min_cycle_interval: { code: 'throttled' },
  // past states, decision 318
  unknown_cycle: { code: 'not_found' },
  cycle_trimmed: { code: 'not_found', http: 410 },
  state_not_stored: { code: 'conflict' },
  replay_mismatch: { code: 'conflict' },
  // fail-closed refusals and bounds, decisions 24, 159 and 160, architecture 3.7
  limiter_unavailable: { code: 'service_unavailable' },
  engine_unavailable: { code: 'service_unavailable' },
  // actions refused because the audit trail cannot record them, decision 249
  audit_unavailable: { code: 'service_unavailable' },
  too_many_refused_keys: { code: 'service_unavailable' },
  too_many_refused_notifications: { code: 'service_unavailable' },
  too_many_unfinished_bodies: { code: 'service_unavailable' },
  overloaded: { code: 'service_unavailable' },
  // index of an account's instances, decision 325
  index_rebuilding: { code: 'service_unavailable' },
  // payment provider, decision 248
  billing_unavailable: { code: 'service_unavailable' },
  deadline_exceeded: { code: 'service_unavailable' },
  // repeated call whose stored answer is missing, decision 90
  outcome_unknown: { code: 'service_unavailable' },
  shutting_down: { code: 'service_unavailable' },
  // feature that a node of an older release lacks, decision 240
  upgrade_in_progress: { code: 'service_unavailable' },
} as const satisfies Record<string, ReasonRow>;

/** Stable token for the reason of a refusal. */
export type FaultReason = keyof typeof REASONS;

/**
 * Reasons between nodes. The call router handles them, so no caller receives them and the API
 * document does not list them. Source: architecture 3.5.
 */
export const PEER_REASONS = {
  /** Another incarnation owns the shard; the refusal may name the owner. The call had no effect. */
  not_owner: { code: 'service_unavailable' },
  /** No courier can be reached, or the connection was lost. The engine repeats the delivery. */
  courier_unavailable: { code: 'service_unavailable' },
} as const satisfies Record<string, ReasonRow>;

/** Stable token for the reason of a refusal between nodes. */
export type PeerReason = keyof typeof PEER_REASONS;

/**
 * Reasons that the console sends to its pages. The API never sends them, and its document does not
 * list them. Source: decisions 245 and 246.
 */
export const CONSOLE_REASONS = {
  // origin of the request
  wrong_host: { code: 'invalid_request', http: 421 },
  cross_site_request: { code: 'forbidden' },
  api_key_not_accepted: { code: 'invalid_request', http: 400 },
  // identity of the user
  sign_in_needed: { code: 'unauthorized' },
  second_factor_needed: { code: 'unauthorized' },
  wrong_credentials: { code: 'unauthorized' },
  wrong_code: { code: 'unauthorized' },
  wrong_password: { code: 'forbidden' },
  no_account: { code: 'forbidden' },
  other_address: { code: 'forbidden' },
  role_not_allowed: { code: 'forbidden' },
  // content of the request
  weak_password: { code: 'invalid_request' },
  link_not_usable: { code: 'not_found' },
  last_owner: { code: 'conflict' },
  second_factor_state: { code: 'conflict' },
  second_factor_unavailable: { code: 'conflict' },
} as const satisfies Record<string, ReasonRow>;

/** Stable token for the reason of a refusal by the console. */
type ConsoleReason = keyof typeof CONSOLE_REASONS;

/** Reason from any of the three sets. */
export type AnyReason = FaultReason | PeerReason | ConsoleReason;

const ROWS: Readonly<Record<AnyReason, ReasonRow>> = {
  ...REASONS,
  ...PEER_REASONS,
  ...CONSOLE_REASONS,
};

/** The error code of a reason. */
export function codeOfReason(reason: AnyReason): FaultCode {
  return ROWS[reason].code;
}

/** The HTTP status of a reason, if it differs from the status of its code; else undefined. */
export function httpOfReason(reason: AnyReason | undefined): number | undefined {
  return reason === undefined ? undefined : ROWS[reason].http;
}
