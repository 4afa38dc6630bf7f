import { waitText } from '#pages/parts/format';
import type { Refused } from '#pages/shell/api';

const OPERATOR = 'If this lasts, give the request id to the operator of the service.';

const UNKNOWN_OUTCOME =
  'Load the page again: a change may have been applied although its answer is missing.';

/** Next steps by reason of a refusal. A reason has precedence over the code of the refusal. */
const BY_REASON: Readonly<Record<string, string>> = {
  instance_limit: 'Delete an unused instance, or change to a larger plan.',
  webhook_limit: 'Delete an endpoint that you no longer need.',
  too_many_streams: 'Close other pages of this account.',
  too_many_tags: 'Remove tags that you no longer need.',
  index_rebuilding: 'The service builds the index of the account. This takes some seconds.',
  audit_unavailable: `Nothing was changed. ${OPERATOR}`,
  audit_full: 'Changes are possible again next month.',
  account_suspended: 'Ask the operator of the service.',
  role_not_allowed: 'An owner of the account can change your role.',
  version_mismatch: 'Somebody else has changed the object. Load the page again.',
  deadline_exceeded: UNKNOWN_OUTCOME,
  outcome_unknown: UNKNOWN_OUTCOME,
  upgrade_in_progress: 'The service is being upgraded. Try again in some minutes.',
  shutting_down: 'The service restarts. Try again in a moment.',
  overloaded: 'Try again in a moment.',
  billing_unavailable: 'No payment was made. Try again in some minutes.',
  cursor_expired: 'Load the page again.',
};

/** Next steps by code, for refusals whose reason has no own step. */
const BY_CODE: Readonly<Record<string, string>> = {
  rate_limited: 'Pages and programs share the requests of the plan.',
  quota_exceeded: 'Change to a larger plan, or wait until the month ends.',
  conflict: 'Load the page again, and repeat the change.',
  service_unavailable: `Try again in a moment. ${OPERATOR}`,
  internal: `Try again. ${OPERATOR}`,
};

/** Next steps after a refusal: when to try again, and what to do. Empty if the message says so. */
export function adviceFor({
  code,
  reason = '',
  retryAfterSeconds: wait,
}: Pick<Refused, 'code' | 'reason' | 'retryAfterSeconds'>): readonly string[] {
  const step = BY_REASON[reason] ?? BY_CODE[code];
  return [
    ...(wait === undefined ? [] : [`Try again in ${waitText(wait)}.`]),
    ...(step === undefined ? [] : [step]),
  ];
}
