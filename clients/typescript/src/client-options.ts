import type { Fetch } from './calls/attempt.ts';
import type { AttemptEvent } from './calls/attempt-event.ts';
import { loggedAttempts } from './calls/attempt-log.ts';
import { assertApplication, type ExtraHeaders, extraHeaders } from './calls/request-headers.ts';
import { IdentityEngineError } from './errors.ts';
import type { Integers } from './json.ts';
import { VERSION } from './version.ts';

/** Client options. */
export type ClientOptions = {
  /** API key `svc_sk_…`; default `IDENTITY_ENGINE_API_KEY` of the environment. */
  readonly apiKey?: string | undefined;
  /**
   * Base URL ending in `/v1`; default `IDENTITY_ENGINE_BASE_URL` of the environment. If that
   * variable is not set: `http://127.0.0.1:8000/v1`.
   */
  readonly baseUrl?: string | undefined;
  /** Deadline of one call including retries, in milliseconds, > 0; default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Maximum time of one attempt with its whole answer, in milliseconds, > 0; default 10,000. */
  readonly attemptTimeoutMs?: number | undefined;
  /**
   * Maximum requests per call; an integer ≥ 1, where 1 disables retries. Default: unlimited until
   * the deadline.
   */
  readonly attemptsMax?: number | undefined;
  /** Replacement for the platform's `fetch`, for a proxy or a test. */
  readonly fetch?: Fetch | undefined;
  /**
   * Representation of integers beyond the exact range of `number`; default `exact`, as a `bigint`.
   */
  readonly integers?: Integers | undefined;
  /**
   * Called after each attempt, for logging. Receives neither the key nor a body. Exceptions are
   * ignored.
   */
  readonly onAttempt?: ((event: AttemptEvent) => void) | undefined;
  /**
   * Extra headers of every request; values are printable ASCII. Headers that have an option, such
   * as `Authorization`, are refused.
   */
  readonly headers?: ExtraHeaders | undefined;
  /**
   * Name of the calling application for the header `User-Agent`, such as `my-game/2.1`. At most 200
   * characters.
   */
  readonly application?: string | undefined;
};

/** Validated client options. */
export type Settings = {
  /** Headers of every request, with the API key. */
  readonly headers: Readonly<Record<string, string>>;
  readonly baseUrl: string;
  readonly timeoutMs: number;
  readonly attemptTimeoutMs: number;
  readonly attemptsMax: number;
  readonly fetch: Fetch;
  readonly integers: Integers;
  readonly onAttempt: ((event: AttemptEvent) => void) | undefined;
};

const DEFAULT_BASE_URL = 'http://127.0.0.1:8000/v1';

/** Default of `timeoutMs`, in milliseconds. */
const DEFAULT_TIMEOUT_MS = 30_000;
/** Default of `attemptTimeoutMs`, in milliseconds. */
const DEFAULT_ATTEMPT_TIMEOUT_MS = 10_000;

/** Maximum timer delay, in milliseconds. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * Applies defaults and environment to options. Throws an `IdentityEngineError` for invalid values.
 */
export function settingsOf(options: ClientOptions): Settings {
  const environment = typeof process === 'undefined' ? {} : process.env;
  const apiKey = options.apiKey ?? environment['IDENTITY_ENGINE_API_KEY'];
  if (apiKey === undefined || apiKey === '') {
    throw new IdentityEngineError('no API key: pass apiKey or set IDENTITY_ENGINE_API_KEY');
  }
  if (!/^[!-~]+$/.test(apiKey)) {
    throw new IdentityEngineError('the API key has characters that are invalid in a header');
  }
  const { integers = 'exact' } = options;
  if (integers !== 'exact' && integers !== 'number') {
    throw new IdentityEngineError(`integers must be 'exact' or 'number', not ${String(integers)}`);
  }
  return {
    ...{ integers, headers: headersOf(apiKey, options) },
    attemptsMax: assertAttempts(options.attemptsMax ?? Number.POSITIVE_INFINITY),
    baseUrl: baseUrlOf(
      options.baseUrl ?? environment['IDENTITY_ENGINE_BASE_URL'] ?? DEFAULT_BASE_URL,
    ),
    timeoutMs: assertTimeMs('timeoutMs', options.timeoutMs ?? DEFAULT_TIMEOUT_MS),
    attemptTimeoutMs: assertTimeMs(
      'attemptTimeoutMs',
      options.attemptTimeoutMs ?? DEFAULT_ATTEMPT_TIMEOUT_MS,
    ),
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    onAttempt: loggedAttempts(environment['IDENTITY_ENGINE_LOG'], options.onAttempt),
  };
}

/** Throws if a time in milliseconds is outside the range of a timer; otherwise returns the time. */
export function assertTimeMs(name: string, ms: number): number {
  if (ms > 0 && ms <= TIMER_MS_MAX) return ms;
  throw new IdentityEngineError(`${name} must be above 0, at most ${TIMER_MS_MAX}, not ${ms}`);
}

/** Throws if a maximum number of attempts is invalid; otherwise returns the number. */
export function assertAttempts(attemptsMax: number): number {
  const isBound = Number.isInteger(attemptsMax) || attemptsMax === Number.POSITIVE_INFINITY;
  if (isBound && attemptsMax >= 1) return attemptsMax;
  throw new IdentityEngineError(`attemptsMax must be an integer above 0, not ${attemptsMax}`);
}

function headersOf(
  apiKey: string,
  { application, headers = {} }: ClientOptions,
): Record<string, string> {
  const products = [`identity-engine-typescript/${VERSION}`];
  if (application !== undefined) products.push(assertApplication(application));
  return {
    accept: 'application/json',
    authorization: `Bearer ${apiKey}`,
    'user-agent': products.join(' '),
    ...extraHeaders(headers),
  };
}

function baseUrlOf(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new IdentityEngineError(`the base URL is invalid: ${text}`);
  }
  const path = url.pathname.replace(/\/+$/, '');
  if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.search + url.hash !== '') {
    throw new IdentityEngineError(
      'the base URL must be http or https, without user name, query and fragment',
    );
  }
  if (!path.endsWith('/v1')) {
    throw new IdentityEngineError(`the base URL must end in /v1, unlike ${url.origin}${path}`);
  }
  return url.origin + path;
}
