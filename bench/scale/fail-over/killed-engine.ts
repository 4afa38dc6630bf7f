import { setTimeout as sleep } from 'node:timers/promises';
import { SHARDS } from '#bench/durable/service';
import { ownedShards } from '#bench/measures/gauges';
import type { Child } from '#bench/processes/child';
import type { ObservedInstances } from '#bench/scale/observed-instances';

/** Polling interval of shard owners, in ms. */
const ASK_EVERY_MS = 20;

/** Pause between two observations of a bystander in ms, to keep the load small. */
const BYSTANDER_PAUSE_MS = 10;

/** Time after which a shard counts as lost, in ms. */
const TAKEOVER_MS_MAX = 60_000;

/** Victim, survivors and observed instances of a kill. A bystander is an instance of a survivor. */
export type Killing = {
  readonly victim: Child;
  /** Metrics URLs of the surviving engines. */
  readonly survivors: readonly string[];
  readonly instances: ObservedInstances;
  /** An instance for each shard of the victim. */
  readonly waiting: readonly number[];
  /** An instance for each survivor. */
  readonly bystanders: readonly number[];
};

/** Latencies that callers see, in ms since the kill. */
export type Killed = {
  /** Wall-clock time of the kill, for comparison with logs. */
  readonly atMs: number;
  readonly ownedMs: number;
  /** First answer from each shard. */
  readonly answeredMs: readonly number[];
  /** Longest wait for an answer from a survivor. */
  readonly bystanderMs: number;
};

/**
 * Kills an engine and waits until each of its shards answers again. Throws if an observation is
 * refused, because the edge must retry until the new owner answers, for up to ten seconds.
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
  throw new Error(`some shards have no owner ${TAKEOVER_MS_MAX / 1_000} s after the kill`);
}
