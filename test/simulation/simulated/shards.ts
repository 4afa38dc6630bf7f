import type { ShardChange, ShardedService, ShardRow, ShardStore } from '#storage/ports/cluster';
import type { SimulatedProcess } from '#test/simulation/simulated/process';
import type { SimulatedStore } from '#test/simulation/simulated/store';
import { memoryShardStore } from '#test/storage/memory/shard-store';

/** Deliberate flaws in shard changes. */
export type ShardFlaws = {
  /** A change compares the owner, but not the epoch. */
  readonly isEpochIgnored?: boolean;
  /** A node treats a timed-out change as if another node had won. */
  readonly isSilenceLost?: boolean;
  /** A node treats an unapplied change as lost, even if its own earlier attempt was applied. */
  readonly isRefusalLost?: boolean;
};

/** Called immediately after every applied change. */
export type ShardListener = (service: ShardedService, row: ShardRow, by: string) => void;

/** Simulated shard table. Bulk reads may lag, because they are quorum reads. */
export class SimulatedShards {
  readonly #server: SimulatedStore;
  readonly #truth = memoryShardStore();
  readonly #onChanged: ShardListener;
  readonly #flaws: ShardFlaws;
  /** Row that a bulk read returns while a change is undecided. */
  readonly #lagging = new Map<string, ShardRow | undefined>();

  constructor(server: SimulatedStore, onChanged: ShardListener, flaws: ShardFlaws = {}) {
    this.#server = server;
    this.#onChanged = onChanged;
    this.#flaws = flaws;
  }

  /** Table without faults, for checks. */
  get truth(): ShardStore {
    return this.#truth;
  }

  /** Shard store for a process. */
  portOf(process: SimulatedProcess): ShardStore {
    const call = <Answer>(name: string, isWrite: boolean, execute: () => Promise<Answer>) =>
      this.#server.call(process, { name, isWrite, execute });
    return {
      fixCluster: (wanted) => call('cluster', true, () => this.#truth.fixCluster(wanted)),
      fixCount: (service, wanted) =>
        call('shard count', true, () => this.#truth.fixCount(service, wanted)),
      countOf: (service) => call('shard count', false, () => this.#truth.countOf(service)),
      load: (service, count) => call('shards', false, () => this.#load(service, count)),
      read: (service, shard) =>
        call(`shard ${shard}`, false, () => {
          this.#lagging.delete(`${service} ${shard}`);
          return this.#truth.read(service, shard);
        }),
      change: (change) => this.#received(change, this.#change(process, change)),
    };
  }

  /** Outcome of a change that the process receives. A flaw can replace the outcome. */
  async #received(change: ShardChange, changed: ReturnType<ShardStore['change']>) {
    const { from, owner } = change;
    const { isSilenceLost, isRefusalLost } = this.#flaws;
    if (from === undefined) return await changed;
    const lost = { isApplied: false, row: { ...from, epoch: from.epoch + 1 } };
    try {
      const written = await changed;
      const isOwn = !written.isApplied && written.row?.owner === owner;
      return isRefusalLost && isOwn ? lost : written;
    } catch (error) {
      if (isSilenceLost) return lost;
      throw error;
    }
  }

  async #load(service: ShardChange['service'], count: number): Promise<ShardRow[]> {
    const rows = await this.#truth.load(service, count);
    return rows.flatMap((row) => {
      const place = `${service} ${row.shard}`;
      const seen = this.#lagging.has(place) ? this.#lagging.get(place) : row;
      return seen === undefined ? [] : [seen];
    });
  }

  /** The change that the store receives. A flaw can replace the expected row. */
  #asWritten(change: ShardChange, before: ShardRow | undefined): ShardChange {
    const isSameOwner = before?.owner === change.from?.owner;
    return this.#flaws.isEpochIgnored && isSameOwner ? { ...change, from: before } : change;
  }

  #change(process: SimulatedProcess, change: ShardChange) {
    let before: ShardRow | undefined;
    const { service, shard, owner } = change;
    const place = `${service} ${shard}`;
    return this.#server.call(process, {
      name: `change ${shard} to ${owner}`,
      isWrite: true,
      execute: async () => {
        before = await this.#truth.read(service, shard);
        this.#lagging.delete(place);
        const written = await this.#truth.change(this.#asWritten(change, before));
        if (written.isApplied && written.row !== undefined) {
          this.#onChanged(service, written.row, process.name);
        }
        return written;
      },
      onLeft: (isAnswered) => {
        if (!isAnswered && this.#server.world.random.happens(0.5)) this.#lagging.set(place, before);
      },
    });
  }
}
