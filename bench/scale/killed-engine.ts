import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from '#bench/child';
import { SHARDS } from '#bench/durable-service';
import { ownedShards } from '#bench/gauges';
import type { ObservedInstances } from '#bench/scale/observed-instances';

/** How often it is asked who owns what, in ms. */
const ASK_EVERY_MS = 20;

/** Pause between two observations of a caller whose engine lives, in ms: the load must stay small. */
const BYSTANDER_PAUSE_MS = 10;

/** After so long a shard counts as lost, in ms. */
const TAKEOVER_MS_MAX = 60_000;

/** Who is killed, who is left, and who is observed meanwhile. */
export type Killing = {
  readonly victim: Child;
  /** Where the engines that are left show their metrics. */
  readonly survivors: readonly string[];
  readonly instances: ObservedInstances;
  /** One instance of each shard of the victim. */
  readonly waiting: readonly number[];
  /** One instance of each other engine. */
  readonly bystanders: readonly number[];
};

/** What callers saw, in ms since the kill. */
export type Killed = {
  /** Wall-clock time of the kill, to compare logs with. */
  readonly atMs: number;
  readonly ownedMs: number;
  /** The first answer of each shard. */
  readonly answeredMs: readonly number[];
  /** The longest wait of a caller whose engine lives. */
  readonly bystanderMs: number;
};

/**
 * Kills an engine and waits until each of its shards answers again. Throws when an observation is
 * refused: the edge has ten seconds to find the new owner.
 */
export async function killEngine(killing: Killing): Promise<Killed> {
  const { victim, survivors, instances, waiting, bystanders } = killing;
  let isOver = false;
  const atMs = Date.now();
  const killedMs = performance.now();
  const sinceKill = () => performance.now() - killedMs;
  victim.kill('SIGKILL');
  const answered = waiting.map(async (instance) => {
    await instances.observe(instance);
    return sinceKill();
  });
  const waits = bystanders.map(async (instance) => {
    let longestMs = 0;
    while (!isOver) {
      const sentMs = performance.now();
      await instances.observe(instance);
      longestMs = Math.max(longestMs, performance.now() - sentMs);
      await sleep(BYSTANDER_PAUSE_MS);
    }
    return longestMs;
  });
  const owned = untilOwned(survivors, sinceKill);
  try {
    const [ownedMs, answeredMs] = await Promise.all([owned, Promise.all(answered)]);
    isOver = true;
    return { atMs, ownedMs, answeredMs, bystanderMs: Math.max(...(await Promise.all(waits))) };
  } finally {
    isOver = true;
    await Promise.allSettled([owned, ...answered, ...waits]);
  }
}

async function untilOwned(survivors: readonly string[], sinceKill: () => number): Promise<number> {
  while (sinceKill() < TAKEOVER_MS_MAX) {
    if ((await ownedShards(survivors)) === SHARDS) return sinceKill();
    await sleep(ASK_EVERY_MS);
  }
  throw new Error(`not every shard was owned again after ${TAKEOVER_MS_MAX / 1_000} s`);
}
