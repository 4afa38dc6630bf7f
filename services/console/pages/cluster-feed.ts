import { signal } from '@preact/signals';
import { Refused } from '#pages/api';
import type { ClusterReport } from '#pages/cluster-answers';
import { readReport } from '#pages/cluster-api';

/** How long after an answer the next is asked for, in milliseconds: one report counts for a second. */
const PAUSE_MS = 1_000;

/** What the page has: nothing without a token, then the newest report and whether the next failed. */
export type Feed =
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
    await whenWanted();
    if (own !== run) return;
    const next = await nextFeed(token, feed.value);
    if (own !== run) return;
    feed.value = next;
    // Whatever takes the port next must not be sent the token of the process that had it.
    if (next.kind === 'locked' || isUnreachable(next)) return;
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
    if (before.kind !== 'open') return { kind: 'locked', refusal };
    const failing = { refusal, sinceMs: before.failing?.sinceMs ?? performance.now() };
    return { ...before, failing };
  }
}

/** Whether the process does not answer: the token is forgotten, and what was shown stays. */
export function isUnreachable(now: Feed): boolean {
  return now.kind === 'open' && now.failing?.refusal.code === 'no_answer';
}

const wrongToken = new Refused(
  'unauthorized',
  'this is not the token of this process: it may have started again, and has another one then',
  { field: 'token' },
);

/** Fulfils when the page is in front and not paused. */
function whenWanted(): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (document.hidden || isPaused.value) return;
      document.removeEventListener('visibilitychange', look);
      ended();
      resolve();
    };
    let ended = (): void => undefined;
    document.addEventListener('visibilitychange', look);
    ended = isPaused.subscribe(() => queueMicrotask(look));
  });
}
