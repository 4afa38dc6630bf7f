import { type Deadline, TIMED_OUT } from './deadline.ts';

/** A request to send. */
export type Request = {
  readonly url: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
};

/** Result of one attempt. */
export type Attempt =
  | { readonly kind: 'answered'; readonly response: FetchAnswer; readonly text: string }
  /** `wasSent`: whether the request may have reached the service. */
  | {
      readonly kind: 'unanswered';
      readonly wasSent: boolean;
      readonly isLate: boolean;
      readonly cause: unknown;
    };

/**
 * Signature that a replacement for `fetch` must implement. The types name only the parts that the
 * client uses, so that the functions of other packages fit, such as `fetch` of `undici`.
 */
export type Fetch = (url: string, init: FetchRequest) => Promise<FetchAnswer>;

/** Request for `Fetch`; fits `RequestInit`. */
export type FetchRequest = {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly signal: AbortSignal;
  readonly redirect: 'manual';
};

/** Answer of `Fetch`: the used part of `Response`. */
export type FetchAnswer = {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: Headers;
  readonly body: FetchBody | null;
  text(): Promise<string>;
};

/** Stream of an answer: the used part of `ReadableStream`. */
export type FetchBody = {
  getReader(): {
    read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
    cancel(): Promise<void>;
  };
  cancel(): Promise<void>;
};

/**
 * Sends one request and reads the whole body, within `ms` milliseconds. Does not follow redirects,
 * because they would send the key elsewhere. Rejects only with the caller's abort reason.
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

/** Error codes of a connection attempt that failed before anything was sent. */
const NEVER_CONNECTED: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Whether `fetch` failed to connect to every address of the host. */
function wasRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { errors } = error as { errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return errors.every(wasRefused);
  return NEVER_CONNECTED.has((error as { code?: unknown }).code) || wasRefused(error.cause);
}
