import { ApiError, type IdentityEngineError, MalformedAnswerError } from '../errors.ts';
import type { AttemptEvent } from './attempt-event.ts';

/** Facts about an attempt that are known before its outcome. */
export type AttemptFacts = {
  readonly method: string;
  readonly path: string;
  readonly attempts: number;
  readonly startedMs: number;
};

/** Reports an attempt to the hook, if any. Never throws. */
export function reportAttempt(
  onAttempt: ((event: AttemptEvent) => void) | undefined,
  { method, path, attempts, startedMs }: AttemptFacts,
  outcome: AnsweredFacts | IdentityEngineError,
  retryInMs?: number,
): void {
  if (onAttempt === undefined) return;
  const durationMs = performance.now() - startedMs;
  const error = outcome instanceof Error ? withoutBody(outcome) : undefined;
  const { status, requestId } = answeredWith(outcome);
  try {
    const event = {
      method,
      path,
      attempt: attempts,
      durationMs,
      status,
      requestId,
      retryInMs,
      error,
    };
    const returned: unknown = onAttempt(event);
    if (returned instanceof Promise) returned.catch(() => undefined);
  } catch {
    // Ignore a failing hook.
  }
}

/** The error without the excerpt of a foreign body, which must not be logged. */
function withoutBody(error: IdentityEngineError): IdentityEngineError {
  if (!(error instanceof MalformedAnswerError)) return error;
  const { status, requestId, mayHaveHappened, attempts } = error;
  return new MalformedAnswerError({ status, requestId, text: '' }, mayHaveHappened, { attempts });
}

/** Status and request id of an answer. */
type AnsweredFacts = { readonly status: number; readonly requestId: string | undefined };

function answeredWith(outcome: AnsweredFacts | IdentityEngineError): Partial<AnsweredFacts> {
  if (!(outcome instanceof Error)) return outcome;
  const isAnswer = outcome instanceof ApiError || outcome instanceof MalformedAnswerError;
  return isAnswer ? { status: outcome.status, requestId: outcome.requestId } : {};
}
