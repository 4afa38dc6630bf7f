import { signal } from '@preact/signals';
import type { ClusterReport } from '#pages/cluster/answers';
import { Refused } from '#pages/shell/api';

/** How long a report may take, in milliseconds: the first one listens for over a second. */
const REPORT_MS_MAX = 8_000;

/** What a token can be; another text is none, and no header of a request either. */
const TOKEN = /^[\x21-\x7e]+$/;

/** Asks for the cluster as it is now. Throws `Refused`. The token goes into a header, and nowhere else. */
async function readReport(token: string): Promise<ClusterReport> {
  if (!TOKEN.test(token)) throw new Refused('unauthorized', 'this is not a token');
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
  return new Refused('no_answer', 'The process that this page is from does not answer.');
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

/** How long after an answer the next is asked for, in milliseconds: one report counts for a second. */
const PAUSE_MS = 1_000;

/** How long the token is kept while no report is asked for, in milliseconds. */
const IDLE_MS_MAX = 15 * 60_000;

/** Why the token is forgotten that was not used for a while. */
export const IDLE_TOO_LONG = new Refused(
  'idle_too_long',
  'This page has asked for no report for 15 minutes, hidden or paused.',
);

/** What the page has: nothing without a token, then the newest report and whether the next failed. */
type Feed =
  | { readonly kind: 'locked'; readonly refusal: Refused | undefined }
  | { readonly kind: 'opening' }
  | {
      readonly kind: 'open';
      readonly report: ClusterReport;
      /** Since when there is no newer one, and why; undefined: it is the newest. */
      readonly failing: { readonly refusal: Refused; readonly sinceMs: number } | undefined;
    };

/** The cluster, as it was last heard. */
export const feed = signal<Feed>({ kind: 'locked', refusal: undefined });

/** Whether no further report is asked for. */
export const isPaused = signal(false);

let run = 0;

/** Asks for reports with this token, a second after each answer, for as long as the page is seen. */
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
    // Whatever takes the port next must not be sent the token of the process that had it.
    if (next.kind === 'locked' || isTokenForgotten(next)) return;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/** Forgets the token and what was shown. */
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
      error instanceof Refused ? error : new Refused('internal', 'This page has a fault.');
    if (refusal.code === 'unauthorized') return { kind: 'locked', refusal: wrongToken };
    return failed(before, refusal);
  }
}

function failed(before: Feed, refusal: Refused): Feed {
  if (before.kind !== 'open') return { kind: 'locked', refusal };
  const failing = { refusal, sinceMs: before.failing?.sinceMs ?? performance.now() };
  return { ...before, failing };
}

/** Whether the token is forgotten, while what was shown stays: no answer came, or none was asked for. */
export function isTokenForgotten(now: Feed): boolean {
  const code = now.kind === 'open' ? now.failing?.refusal.code : undefined;
  return code === 'no_answer' || code === IDLE_TOO_LONG.code;
}

const wrongToken = new Refused(
  'unauthorized',
  'this is not the token of this process: it may have started again, and has another one then',
  { field: 'token' },
);

/** Fulfils when the page is in front and not paused: true, or false if that takes too long. */
function whenWanted(): Promise<boolean> {
  return new Promise((resolve) => {
    const beganMs = Date.now();
    const late = setTimeout(() => end(false), IDLE_MS_MAX);
    const look = (): void => {
      if (document.hidden || isPaused.value) return;
      // Timers do not run while the machine sleeps.
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
