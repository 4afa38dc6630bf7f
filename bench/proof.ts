import { setTimeout as sleep } from 'node:timers/promises';
import { readCycleCount } from '#bench/cycle-count';
import type { Server } from '#bench/servers';

/** How long requests that were cut off may still be worked on after a run, in ms. Ours. */
const SETTLE_MS = 200;

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
    return undefined;
  }
  const before = await readCycleCount(service.metricsUrl);
  const { answered, unanswered } = await load();
  await sleep(SETTLE_MS);
  const after = await readCycleCount(service.metricsUrl);
  const throttled = after.throttled - before.throttled;
  if (throttled > 0) return `${throttled} answers were throttled`;
  const surplus = after.advanced - before.advanced - answered;
  if (surplus >= 0 && surplus <= unanswered) return undefined;
  return `${answered} answers, but ${answered + surplus} cycles`;
}
