import { setTimeout as sleep } from 'node:timers/promises';
import { type CycleCount, readCycleCount } from '#bench/measures/cycle-count';
import type { Server } from '#bench/processes/servers';

/** If the cycle counters do not change for this time in ms, all aborted requests have ended. */
const QUIET_MS = 200;

/** Maximum wait in ms for unchanged counters: enough for 256 requests on a busy disk. */
const QUIET_MS_MAX = 15_000;

/** Number of requests that a load generator has sent. */
export type Sent = {
  readonly answered: number;
  /** Number of answers with a status other than 2xx. */
  readonly refused: number;
  /** Maximum number of requests without an answer. */
  readonly unanswered: number;
};

/** Problem that makes a run void. */
export type Problem = {
  readonly text: string;
  /**
   * Whether the only problem is late observations: another connection was faster, and the server
   * throttled them correctly. The run may be repeated.
   */
  readonly isLate: boolean;
};

/**
 * Runs a load and compares the answers with the server's counters: each answer is a cycle, no call
 * is throttled. Unanswered requests may add cycles. Returns the problem, or undefined. For a server
 * without counters, checks only the status of the answers.
 */
export async function problemOf(
  { service }: Server,
  load: () => Promise<Sent>,
): Promise<Problem | undefined> {
  if (service === undefined) {
    const { refused } = await load();
    await sleep(QUIET_MS);
    return refused > 0 ? wrong(`${refused} non-2xx`) : undefined;
  }
  const before = await readCycleCount(service.metricsUrls);
  const sent = await load();
  const after = await restingCount(service.metricsUrls);
  const advanced = after.advanced - before.advanced;
  return problemWith(sent, { advanced, throttled: after.throttled - before.throttled });
}

/** Compares the answers of a run with the growth of the server's counters. */
export function problemWith(
  { answered, refused, unanswered }: Sent,
  { advanced, throttled }: CycleCount,
): Problem | undefined {
  // The service answers 200 to a throttled call; references answer 409.
  if (refused > throttled) return wrong(`${refused} non-2xx, ${throttled} throttled`);
  const surplus = advanced + throttled - answered;
  if (surplus < 0 || surplus > unanswered) {
    return wrong(`${answered} answers, but ${answered + surplus} cycles and throttled calls`);
  }
  if (throttled === 0) return undefined;
  return { text: `${throttled} answers were throttled`, isLate: true };
}

function wrong(text: string): Problem {
  return { text, isLate: false };
}

/**
 * Reads the counters when no request is in flight: late requests must not count for the next run.
 */
async function restingCount(metricsUrls: readonly string[]): Promise<CycleCount> {
  const deadlineMs = performance.now() + QUIET_MS_MAX;
  let count = await readCycleCount(metricsUrls);
  for (;;) {
    await sleep(QUIET_MS);
    const later = await readCycleCount(metricsUrls);
    const isSettled = later.advanced === count.advanced && later.throttled === count.throttled;
    if (isSettled || performance.now() > deadlineMs) return later;
    count = later;
  }
}
