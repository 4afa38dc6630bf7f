import { ApiError, IdentityEngineError } from '../errors.ts';
import type { AttemptEvent } from './attempt-event.ts';

type Hook = (event: AttemptEvent) => void;

/**
 * Adds a log on stderr to the hook `onAttempt`. `level` is the value of `IDENTITY_ENGINE_LOG`:
 * `debug` logs every attempt, `warn` only failed attempts, and an empty value none. Throws an
 * `IdentityEngineError` for another value.
 */
export function loggedAttempts(
  level: string | undefined,
  onAttempt: Hook | undefined,
): Hook | undefined {
  if (level === undefined || level === '') return onAttempt;
  if (level !== 'debug' && level !== 'warn') {
    const text = `IDENTITY_ENGINE_LOG must be debug or warn, not ${JSON.stringify(level)}`;
    throw new IdentityEngineError(text);
  }
  return (event) => {
    if (level === 'debug' || event.error !== undefined) console.error(lineOf(event));
    return onAttempt?.(event);
  };
}

/** Log line of an attempt, without key, query, headers and bodies. */
function lineOf({
  method,
  path,
  attempt,
  status,
  durationMs,
  requestId,
  retryInMs,
  error,
}: AttemptEvent): string {
  const outcome = error === undefined ? status : textOf(error);
  const parts = [
    `identity-engine: ${method} ${path}, attempt ${attempt}: ${outcome}`,
    `after ${Math.round(durationMs)} ms`,
  ];
  if (requestId !== undefined) parts.push(`request ${requestId}`);
  if (retryInMs !== undefined) parts.push(`retry in ${Math.round(retryInMs)} ms`);
  return parts.join(', ');
}

/** Text of an error. Leaves out the service's message, which may quote a value of the body. */
function textOf(error: IdentityEngineError): string {
  if (!(error instanceof ApiError)) return `${error.name}: ${error.message}`;
  const { status, code, reason } = error;
  return [status, code, reason].filter((part) => part !== undefined).join(' ');
}
