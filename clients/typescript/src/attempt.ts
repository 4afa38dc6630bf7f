import { type Deadline, TIMED_OUT } from './deadline.ts';

/** A request as it goes out. */
export type Request = {
  readonly url: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
};

/** What one attempt came to. */
export type Attempt =
  | { readonly kind: 'answered'; readonly response: Response; readonly text: string }
  /** `wasSent`: whether the request may have reached the service. */
  | {
      readonly kind: 'unanswered';
      readonly wasSent: boolean;
      readonly isLate: boolean;
      readonly cause: unknown;
    };

/** What `fetch` is called with; a stand-in for it has to take no more. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * One request and its answer with the whole body, within `ms` milliseconds. Redirects are not followed: they
 * would take the key elsewhere. Rejects only with the reason of the caller's signal.
 */
export async function attempt(
  fetch: Fetch,
  { url, method, headers, body }: Request,
  deadline: Deadline,
  ms: number,
): Promise<Attempt> {
  deadline.throwIfCancelled();
  try {
    return await deadline.limit(ms, async (signal) => {
      const init = { method, headers, signal, redirect: 'manual' as const };
      const response = await fetch(url, body === undefined ? init : { ...init, body });
      return { kind: 'answered', response, text: await response.text() } as const;
    });
  } catch (cause) {
    deadline.throwIfCancelled();
    if (cause === TIMED_OUT) return { kind: 'unanswered', wasSent: true, isLate: true, cause };
    return { kind: 'unanswered', wasSent: !wasRefused(cause), isLate: false, cause };
  }
}

/** Codes of a connection that never came to be: nothing was sent over it. */
const NEVER_CONNECTED: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Whether an error of `fetch` says that no connection was made, to any address of the host. */
function wasRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { errors } = error as { errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return errors.every(wasRefused);
  return NEVER_CONNECTED.has((error as { code?: unknown }).code) || wasRefused(error.cause);
}
