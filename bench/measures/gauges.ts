import { setTimeout as sleep } from 'node:timers/promises';
import { metricsOf, sumOf } from '#bench/measures/cycle-count';
import { withProgress } from '#bench/progress';

/** Gauges of a service's nodes. A node updates its counts of actors and records once a second. */

/** Maximum age of a gauge, in ms. After a load, this file waits this long before reading gauges. */
const COUNTED_MS = 1_100;

/** Polling interval while waiting for zero, in ms. */
const POLL_INTERVAL_MS = 250;

/**
 * Maximum wait until all records are stored, in ms: two minutes of checkpoint delay, plus writing.
 */
const STORED_MS_MAX = 240_000;

/** Number of shards owned by the engines. */
export async function ownedShards(metricsUrls: readonly string[]): Promise<number> {
  return sumOf(await metricsOf(metricsUrls), 'shards_owned');
}

/** Number of instances in the engines' memory. */
export async function activeInstances(metricsUrls: readonly string[]): Promise<number> {
  return sumOf(await metricsOf(metricsUrls), 'identity_actors_active', 'actor="instance"');
}

/** Number of meters in the limiters' memory. */
export async function activeMeters(metricsUrls: readonly string[]): Promise<number> {
  return sumOf(await metricsOf(metricsUrls), 'identity_actors_active', 'actor="meter"');
}

/** Number of durable records without a checkpoint, including records of the last second. */
export async function unflushedRecords(metricsUrls: readonly string[]): Promise<number> {
  await sleep(COUNTED_MS);
  return await countedRecords(metricsUrls);
}

/** Resolves when every record has a checkpoint. Throws after four minutes. */
export function untilStored(
  metricsUrls: readonly string[],
  print: (line: string) => void,
): Promise<void> {
  const count = () => countedRecords(metricsUrls);
  return untilNone(count, 'records are not stored yet', print, STORED_MS_MAX);
}

/** As `untilStored`, but a quick run does not wait the two minutes until the last checkpoints. */
export async function untilStoredIn(
  { isQuick, print }: { readonly isQuick: boolean; readonly print: (line: string) => void },
  metricsUrls: readonly string[],
): Promise<void> {
  if (!isQuick) await untilStored(metricsUrls, print);
}

/**
 * Resolves when gauge `count` reaches zero. First waits until the gauge includes recent changes.
 * Throws after `msMax` ms.
 */
export async function untilNone(
  count: () => Promise<number>,
  what: string,
  print: (line: string) => void,
  msMax: number,
): Promise<void> {
  const deadlineMs = performance.now() + COUNTED_MS + msMax;
  await sleep(COUNTED_MS);
  let left = await count();
  const line = () => `${left.toLocaleString('en')} ${what}`;
  await withProgress(line, print, async () => {
    for (; left > 0; left = await count()) {
      if (performance.now() > deadlineMs) throw new Error(`after ${msMax / 1_000} s, ${line()}`);
      await sleep(POLL_INTERVAL_MS);
    }
  });
}

async function countedRecords(metricsUrls: readonly string[]): Promise<number> {
  return sumOf(await metricsOf(metricsUrls), 'journal_unflushed_records');
}
