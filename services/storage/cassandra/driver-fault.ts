import { errors, types } from 'cassandra-driver';
import { Fault } from '#fault/fault';

/** Why a statement failed, as the metric's `error_type` says it. */
export type StoreErrorType = 'timeout' | 'unavailable' | 'connection' | 'refused';

/** A failed statement: what the caller gets, and what the metric counts. */
export type StoreFailure = { readonly fault: Fault; readonly errorType: StoreErrorType };

/** What a statement does, as far as its repetition and its loss matter. */
export type StatementEffect = 'none' | 'change';

const { responseErrorCodes: code } = types;

/** The server looked at the statement and will never take it; nothing was written. */
const REFUSALS: ReadonlySet<number> = new Set([
  code.protocolError,
  code.badCredentials,
  code.syntaxError,
  code.unauthorized,
  code.invalid,
  code.configError,
  code.alreadyExists,
]);

/** The replicas did not answer the coordinator in time. */
const TIMEOUTS: ReadonlySet<number> = new Set([code.readTimeout, code.writeTimeout]);

/**
 * The fault that an error of the driver stands for: `internal` when the server refuses for good,
 * else `service_unavailable`. A change whose request may have reached a server has
 * `isOutcomeUnknown`: it may have happened, or happen yet (architecture 3.1).
 */
export function failureOf(error: unknown, effect: StatementEffect): StoreFailure {
  const errorType = errorTypeOf(error);
  if (errorType === 'refused') {
    return { errorType, fault: new Fault('internal', 'internal error', { cause: error }) };
  }
  const isOutcomeUnknown = effect === 'change' && !wasNeverSent(error);
  const options = { retryAfterS: 1, isOutcomeUnknown, cause: error };
  return {
    errorType,
    fault: new Fault('service_unavailable', 'the store gives no answer', options),
  };
}

function errorTypeOf(error: unknown): StoreErrorType {
  if (error instanceof errors.ResponseError) {
    if (REFUSALS.has(error.code)) return 'refused';
    return TIMEOUTS.has(error.code) ? 'timeout' : 'unavailable';
  }
  if (error instanceof errors.OperationTimedOutError) return 'timeout';
  if (isSocketError(error)) return 'connection';
  if (error instanceof errors.NoHostAvailableError) return 'unavailable';
  // What is left comes from encoding the statement: a wrong type, a missing parameter.
  return error instanceof errors.DriverInternalError ? 'unavailable' : 'refused';
}

/** Whether no server can have seen the request, so that nothing can come of it. */
function wasNeverSent(error: unknown): boolean {
  if (error instanceof errors.NoHostAvailableError) {
    return Object.values<unknown>(error.innerErrors ?? {}).every(wasNotTried);
  }
  return isSocketError(error) && error.requestNotWritten === true;
}

/** Whether the driver sent a statement to a server in vain, by what it notes of that server. */
export function hasFailed(inner: unknown): boolean {
  return !wasNotTried(inner);
}

/** Hosts that were skipped bear a text, a busy connection or nothing at all. */
function wasNotTried(inner: unknown): boolean {
  if (!(inner instanceof Error)) return true;
  if (inner instanceof errors.BusyConnectionError) return true;
  if (isSocketError(inner)) return inner.requestNotWritten === true;
  return !(inner instanceof errors.ResponseError || inner instanceof errors.OperationTimedOutError);
}

/** The driver marks what the socket failed with properties that its types do not name. */
function isSocketError(
  error: unknown,
): error is Error & { isSocketError: true; requestNotWritten?: boolean } {
  return error instanceof Error && 'isSocketError' in error && error.isSocketError === true;
}
