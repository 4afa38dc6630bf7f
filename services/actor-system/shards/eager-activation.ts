import type { CommitLog } from '#actor-runtime/commit-log';
import {
  EAGER_ACTORS,
  EAGER_DELAY_MS,
  EAGER_FRUITLESS_MAX,
  EAGER_PERIOD_MS,
  EAGER_STUCK_MS,
} from '#shards/bounds';
import type { OpenShards } from '#shards/open-shards';
import type { RecoveredRecords } from '#shards/tail-recovery';
import { type Clock, sleep } from '#stdlib/clock';

/** Part of an actor host that eager activation uses. */
export interface EagerHost {
  readonly kind: string;
  /** Starts loading an actor of an open shard, unless the actor is in memory. */
  activateEagerly(actorId: string): void;
}

type EagerActivationParts = {
  readonly hosts: readonly EagerHost[];
  readonly open: OpenShards;
  readonly recovered: RecoveredRecords;
  readonly log: CommitLog;
  readonly clock: Clock;
};

/**
 * Activates actors with recovered records that no caller has activated yet, in small passes. Until
 * an actor has replayed its records, they hold back the low-water mark.
 */
export class EagerActivation {
  readonly #parts: EagerActivationParts;
  #isRunning = false;

  constructor(parts: EagerActivationParts) {
    this.#parts = parts;
  }

  /** Starts background activation for all open shards, unless it is running. */
  begin(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const { clock, hosts, open } = this.#parts;
    const pauseMs = this.#pauses();
    const pass = (): void => {
      let left = EAGER_ACTORS;
      for (const shard of open.epochs.keys()) {
        for (const host of hosts) left -= this.#activateSome(host, shard, left);
        if (left <= 0) break;
      }
      this.#isRunning = left < EAGER_ACTORS;
      if (this.#isRunning) clock.after(pauseMs(), pass);
    };
    clock.after(EAGER_DELAY_MS, pass);
  }

  /**
   * Activates every actor of an open shard that has recovered records. Rejects as `assertAlive`.
   */
  async activateAll(shard: number): Promise<void> {
    const { clock, hosts, recovered, log } = this.#parts;
    const pauseMs = this.#pauses();
    while (hosts.some(({ kind }) => recovered.hasWaiting(shard, kind))) {
      for (const host of hosts) this.#activateSome(host, shard, EAGER_ACTORS);
      await sleep(clock, pauseMs());
      log.assertAlive();
    }
  }

  /**
   * Pause after each pass of one loop, in milliseconds. The pause is long while a store is down or
   * a journal is corrupt.
   */
  #pauses(): () => number {
    const { recovered } = this.#parts;
    let replayed = recovered.replayedActors;
    let fruitless = 0;
    return () => {
      fruitless = replayed === recovered.replayedActors ? fruitless + 1 : 0;
      replayed = recovered.replayedActors;
      return fruitless > EAGER_FRUITLESS_MAX ? EAGER_STUCK_MS : EAGER_PERIOD_MS;
    };
  }

  #activateSome(host: EagerHost, shard: number, count: number): number {
    const waiting = this.#parts.recovered.waiting(shard, host.kind, count);
    for (const actorId of waiting) host.activateEagerly(actorId);
    return waiting.length;
  }
}
