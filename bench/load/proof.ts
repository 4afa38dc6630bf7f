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
  /** Maximum number of requests without an answer. */
  readonly unanswered: number;
};

/**
 * Runs a load and compares the answers with the service's cycle counter: one cycle per answer, no
 * throttled call. Unanswered requests may add cycles. Returns a description of the problem, or
 * undefined. References have no counter and are not checked.
 */
export async function problemOf(
  server: Server,
  load: () => Promise<Sent>,
): Promise<string | undefined> {
  const { service } = server;
  if (service === undefined) {
    await load();
    await sleep(QUIET_MS);
    return undefined;
  }
  const before = await readCycleCount(service.metricsUrls);
  const { answered, unanswered } = await load();
  const after = await restingCount(service.metricsUrls);
  const throttled = after.throttled - before.throttled;
  if (throttled > 0) return `${throttled} answers were throttled`;
  const surplus = after.advanced - before.advanced - answered;
  if (surplus >= 0 && surplus <= unanswered) return undefined;
  return `${answered} answers, but ${answered + surplus} cycles`;
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
