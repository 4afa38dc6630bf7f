import { setTimeout as sleep } from 'node:timers/promises';
import { type CycleCount, readCycleCount } from '#bench/cycle-count';
import type { Server } from '#bench/servers';

/** Requests that were cut off have come to their end when nothing was counted for this long, in ms. Chosen. */
const QUIET_MS = 200;

/** How long that may take, in ms: 256 of them on a busy disk. Chosen. */
const QUIET_MS_MAX = 15_000;

/** How many requests a load generator saw answered, and how many more it may have sent. */
export type Sent = { readonly answered: number; readonly unanswered: number };

/**
 * Runs a load and compares what was answered with what the service itself counted: as many cycles
 * as answers, none throttled. Says what is wrong, or undefined. References count nothing.
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

/** What is counted when nothing is under way any more: a late one would meet the next run's time. */
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
