import { signal } from '@preact/signals';
import type { ClusterReport } from '#pages/cluster/answers';
import { Refused } from '#pages/shell/api';

/**
 * Timeout for a report request, in milliseconds. The service collects heartbeats for over a second
 * before its first report.
 */
const REPORT_MS_MAX = 8_000;

/** Pattern of a valid token. Other text cannot be a token, or cannot be sent in an HTTP header. */
const TOKEN = /^[\x21-\x7e]+$/;

/**
 * Requests the present state of the cluster. Throws `Refused`. The token is sent in a header only.
 */
async function readReport(token: string): Promise<ClusterReport> {
  if (!TOKEN.test(token)) throw new Refused('unauthorized', 'the token is malformed');
  const response = await answered(token);
  const text = await response.text().catch(() => {
    throw noAnswer();
  });
  const { data, error, message } = parsedOf(text);
  if (response.ok && data !== undefined) return data;
  const fallback = `The admin port answered with status ${response.status}.`;
  throw new Refused(error ?? 'internal', message ?? fallback);
}

async function answered(token: string): Promise<Response> {
  try {
    return await fetch('/cluster/report', {
      headers: { authorization: `Bearer ${token}` },
      credentials: 'omit',
      cache: 'no-store',
      signal: AbortSignal.timeout(REPORT_MS_MAX),
    });
  } catch {
    throw noAnswer();
  }
}

function noAnswer(): Refused {
  return new Refused('no_answer', 'The process that serves this page does not answer.');
}

function parsedOf(text: string): {
  readonly data?: ClusterReport;
  readonly error?: string;
  readonly message?: string;
} {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/**
 * Pause between an answer and the next request, in milliseconds. The service caches a report for a
 * second.
 */
const PAUSE_MS = 1_000;

/** Time without requests until the page forgets the token, in milliseconds. */
const IDLE_MS_MAX = 15 * 60_000;

/** Reason shown after the page forgot an unused token. */
export const IDLE_TOO_LONG = new Refused(
  'idle_too_long',
  'This page requested no report for 15 minutes, because it was hidden or paused.',
);

/** State of the page: locked without a token, opening, or open with the newest report. */
type Feed =
  | { readonly kind: 'locked'; readonly refusal: Refused | undefined }
  | { readonly kind: 'opening' }
  | {
      readonly kind: 'open';
      readonly report: ClusterReport;
      /**
       * Error of the last request, and time of the first failed request since the last success.
       * Undefined if the last request succeeded.
       */
      readonly failing: { readonly refusal: Refused; readonly sinceMs: number } | undefined;
    };

/** Present state of the page. */
export const feed = signal<Feed>({ kind: 'locked', refusal: undefined });

/** Whether requests are paused. */
export const isPaused = signal(false);

let run = 0;

/**
 * Requests reports with this token until the token is forgotten or replaced. Waits a second after
 * each answer. Requests nothing while the page is hidden or paused.
 */
export async function follow(token: string): Promise<void> {
  run += 1;
  const own = run;
  feed.value = { kind: 'opening' };
  while (own === run) {
    const isWanted = await whenWanted();
    if (own !== run) return;
    if (!isWanted) {
      feed.value = failed(feed.value, IDLE_TOO_LONG);
      return;
    }
    const next = await nextFeed(token, feed.value);
    if (own !== run) return;
    feed.value = next;
    // Forgets the token, because another process could take over the port and receive the token.
    if (next.kind === 'locked' || isTokenForgotten(next)) return;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/** Forgets the token and the report. */
export function lock(): void {
  run += 1;
  isPaused.value = false;
  feed.value = { kind: 'locked', refusal: undefined };
}

async function nextFeed(token: string, before: Feed): Promise<Feed> {
  try {
    return { kind: 'open', report: await readReport(token), failing: undefined };
  } catch (error) {
    if (!(error instanceof Refused)) reportError(error);
    const refusal =
      error instanceof Refused ? error : new Refused('internal', 'This page has a bug.');
    if (refusal.code === 'unauthorized') return { kind: 'locked', refusal: wrongToken };
    return failed(before, refusal);
  }
}

function failed(before: Feed, refusal: Refused): Feed {
  if (before.kind !== 'open') return { kind: 'locked', refusal };
  const failing = { refusal, sinceMs: before.failing?.sinceMs ?? performance.now() };
  return { ...before, failing };
}

/**
 * Whether the page has forgotten the token but shows the last report. Reasons: a request had no
 * answer, or the page requested nothing for too long.
 */
export function isTokenForgotten(now: Feed): boolean {
  const code = now.kind === 'open' ? now.failing?.refusal.code : undefined;
  return code === 'no_answer' || code === IDLE_TOO_LONG.code;
}

const wrongToken = new Refused(
  'unauthorized',
  'the token is wrong; after a restart, the process may have a new token',
  { field: 'token' },
);

/**
 * Resolves with true when the page is visible and not paused. Resolves with false after
 * `IDLE_MS_MAX`.
 */
function whenWanted(): Promise<boolean> {
  return new Promise((resolve) => {
    const beganMs = Date.now();
    const late = setTimeout(() => end(false), IDLE_MS_MAX);
    const look = (): void => {
      if (document.hidden || isPaused.value) return;
      // Timers do not run while the machine sleeps, so the wall clock is checked too.
      end(Date.now() - beganMs < IDLE_MS_MAX);
    };
    let unsubscribe = (): void => undefined;
    const end = (isWanted: boolean): void => {
      clearTimeout(late);
      document.removeEventListener('visibilitychange', look);
      unsubscribe();
      resolve(isWanted);
    };
    document.addEventListener('visibilitychange', look);
    unsubscribe = isPaused.subscribe(() => queueMicrotask(look));
  });
}
