import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  SdkError,
  SdkErrorCode,
} from '@modelcontextprotocol/server';
import {
  ApiError,
  ConnectionError,
  DeadlineError,
  MalformedAnswerError,
  NotFoundError,
} from 'identity-engine';

/**
 * The session may not use an instance, or there is no such instance. Foreign, missing and malformed
 * ids have the same error, so that nobody can find ids of others.
 */
export class UnknownInstanceError extends Error {}

/** A connection, or all clients of an HTTP server together, have too many subscriptions. */
export class TooManySubscriptionsError extends Error {}

/** A call without an answer may have been applied. The same call with the key counts once. */
export class UnclearOutcomeError extends Error {
  constructor(idempotencyKey: string, cause: unknown) {
    super(`repeat the same call with idempotency_key ${JSON.stringify(idempotencyKey)}`, { cause });
  }
}

/**
 * Text of an error for clients of the protocol: the reason and the request id of the service.
 * Contains no key, no address and no stack. Writes one line about an unexpected error to `stderr`.
 */
export function failureText(error: unknown): string {
  if (isUnknownInstance(error)) return 'There is no such instance in this session.';
  if (error instanceof UnclearOutcomeError) {
    return `${failureText(error.cause)} The observation may have been applied: ${error.message}.`;
  }
  if (error instanceof ApiError) return `The service refused the call: ${error.message}.`;
  if (error instanceof MalformedAnswerError) return `No answer of the service: ${error.message}.`;
  if (error instanceof DeadlineError && error.cause !== undefined) return failureText(error.cause);
  if (error instanceof ConnectionError || error instanceof DeadlineError) {
    return 'The service does not answer. Try again later.';
  }
  if (error instanceof TooManySubscriptionsError) return 'There are too many subscriptions.';
  if ((error as Error | undefined)?.name === 'AbortError') return 'The call was cancelled.';
  report(error);
  return 'Internal error of identity-engine-mcp.';
}

/** Whether the failed call may have changed something, although the call has no answer. */
export function mayHaveHappened(error: unknown): boolean {
  return (error as { mayHaveHappened?: unknown } | undefined)?.mayHaveHappened === true;
}

/** JSON-RPC error of a failed read or subscription of a resource. */
export function resourceFailure(error: unknown, uri: string): ProtocolError {
  return isUnknownInstance(error) ? new ResourceNotFoundError(uri) : requestFailure(error);
}

/** JSON-RPC error of any other failed request. */
export function requestFailure(error: unknown): ProtocolError {
  const { InvalidParams, InternalError } = ProtocolErrorCode;
  const code = isUnknownInstance(error) ? InvalidParams : InternalError;
  return new ProtocolError(code, failureText(error));
}

function isUnknownInstance(error: unknown): boolean {
  return error instanceof UnknownInstanceError || error instanceof NotFoundError;
}

/** Maximum length of a reported error, in characters. */
const REPORT_LENGTH_MAX = 300;

/**
 * Writes one line about an error to `stderr`, without a stack and without control characters, which
 * would act on the operator's terminal. Ignores connections that a client closed.
 */
export function report(error: unknown): void {
  if (error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed) return;
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const line = text.replaceAll(/[\s\p{Cc}]+/gu, ' ').slice(0, REPORT_LENGTH_MAX);
  process.stderr.write(`identity-engine-mcp: ${line}\n`);
}
