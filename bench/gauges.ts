import { setTimeout as sleep } from 'node:timers/promises';
import { metricsOf, sumOf } from '#bench/cycle-count';
import { withProgress } from '#bench/progress';

/** What a service's nodes show of themselves. A node counts its actors and records once a second. */

/** How old a figure of its actors may be, in ms: a load is measured this long after its end. */
const COUNTED_MS = 1_100;

/** How often it is asked whether there is none left, in ms. */
const ASK_EVERY_MS = 250;

/** How long the service may take to store everything, in ms: two minutes of age, and much to write. */
const STORED_MS_MAX = 240_000;

/** Shards that the engines own. */
export async function ownedShards(metricsUrls: readonly string[]): Promise<number> {
  return sumOf(await metricsOf(metricsUrls), 'shards_owned');
}

/** Instances in the engines' memory. */
export async function activeInstances(metricsUrls: readonly string[]): Promise<number> {
  return sumOf(await metricsOf(metricsUrls), 'identity_actors_active', 'actor="instance"');
}

/** Meters in the limiters' memory. */
export async function activeMeters(metricsUrls: readonly string[]): Promise<number> {
  return sumOf(await metricsOf(metricsUrls), 'identity_actors_active', 'actor="meter"');
}

/** Records that are durable and not checkpointed, those of the last second included. */
export async function unflushedRecords(metricsUrls: readonly string[]): Promise<number> {
  await sleep(COUNTED_MS);
  return await countedRecords(metricsUrls);
}

/** Fulfils when everything is checkpointed. Throws when that takes longer than four minutes. */
export function untilStored(
  metricsUrls: readonly string[],
  print: (line: string) => void,
): Promise<void> {
  const count = () => countedRecords(metricsUrls);
  return untilNone(count, 'records are not stored yet', print, STORED_MS_MAX);
}

/**
 * Fulfils when `count`, a figure of a node's actors, has come down to nothing; what happened a moment
 * ago is waited for first. Throws when that takes longer than `msMax`.
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
      if (performance.now() > deadlineMs) throw new Error(`still ${line()}`);
      await sleep(ASK_EVERY_MS);
    }
  });
}

async function countedRecords(metricsUrls: readonly string[]): Promise<number> {
  return sumOf(await metricsOf(metricsUrls), 'journal_unflushed_records');
}
