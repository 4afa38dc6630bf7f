import {
  EAGER_ACTORS,
  EAGER_DELAY_MS,
  EAGER_FRUITLESS_MAX,
  EAGER_PERIOD_MS,
  EAGER_STUCK_MS,
} from '#node/bounds';
import type { OpenShards } from '#node/open-shards';
import type { RecoveredRecords } from '#node/tail-recovery';
import { type Clock, sleep } from '#platform/clock';
import type { CommitLog } from '#runtime/commit-log';

/** A host of one kind of actor, as far as eager activation is concerned. */
export interface EagerHost {
  readonly kind: string;
  /** Begins to bring an actor of an open shard to memory, if it is not there. */
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
 * Activates the actors that have recovered records and no caller, a portion at a time: until then
 * their records hold the low-water mark back.
 */
export class EagerActivation {
  readonly #parts: EagerActivationParts;
  #isRunning = false;

  constructor(parts: EagerActivationParts) {
    this.#parts = parts;
  }

  /** Begins to activate the actors of all open shards in the background, if it has not begun. */
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

  /** Activates every actor of an open shard that has recovered records. Rejects as `assertAlive`. */
  async activateAll(shard: number): Promise<void> {
    const { clock, hosts, recovered, log } = this.#parts;
    const pauseMs = this.#pauses();
    while (hosts.some(({ kind }) => recovered.hasWaiting(shard, kind))) {
      for (const host of hosts) this.#activateSome(host, shard, EAGER_ACTORS);
      await sleep(clock, pauseMs());
      log.assertAlive();
    }
  }

  /** The pause after each pass of one loop: long while a store is down or a journal is corrupt. */
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
