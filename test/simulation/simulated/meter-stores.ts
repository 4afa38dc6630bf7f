import { memoryAccountStore } from '#storage/memory/accounts';
import type { AccountStore } from '#storage/ports/accounts';
import type { BucketOf } from '#storage/ports/instances';
import type { MeterHead, MeterStore } from '#storage/ports/meters';
import type { SimulatedProcess } from '#test/simulation/simulated/process';
import { ReplicatedState } from '#test/simulation/simulated/replicated-state';
import type { SimulatedStore } from '#test/simulation/simulated/store';
import type { Replicas } from '#test/simulation/stored/replicas';

type Meters = Map<string, MeterHead>;

/** Simulated account and meter stores. */
export class SimulatedMeterStores {
  /** Accounts, read without faults. No key expires, so that a constant clock suffices. */
  readonly accounts: AccountStore = memoryAccountStore({ wallMs: () => 0 });
  readonly #meters: ReplicatedState<Meters>;
  readonly #server: SimulatedStore;
  readonly #bucketOf: BucketOf;

  constructor(server: SimulatedStore, replicas: Replicas, bucketOf: BucketOf) {
    this.#server = server;
    this.#meters = new ReplicatedState(replicas, () => new Map());
    this.#bucketOf = bucketOf;
  }

  /** Stored meters, merged for each pair of replicas. */
  get meterPairs(): ReadonlyMap<string, MeterHead>[] {
    return this.#meters.pairs((into, from) => {
      return [...from].map(([id, head]) => put(into, id, head)).includes(true);
    });
  }

  /** Meter store for a process. */
  metersOf(process: SimulatedProcess): MeterStore {
    return {
      bucketOf: this.#bucketOf,
      readHead: (id) => {
        const name = `meter of ${id}`;
        const merge = (into: Meters, from: Meters) => put(into, id, from.get(id));
        const execute = () => this.#meters.read(name, merge, (meters) => meters.get(id));
        return this.#server.call(process, { name, isWrite: false, execute });
      },
      checkpoint: (checkpoints) => {
        const names = checkpoints.map(({ accountId, head }) => `${accountId} v${head.version}`);
        const name = `meters of ${names.join(', ')}`;
        const write = (meters: Meters) => {
          for (const { accountId, head } of checkpoints) put(meters, accountId, head);
        };
        const execute = () => this.#meters.write(name, write);
        return this.#server.call(process, { name, isWrite: true, execute });
      },
    };
  }

  /** Account store for a process. Only `find` has faults, because meters read nothing else. */
  accountsOf(process: SimulatedProcess): AccountStore {
    const { accounts } = this;
    return {
      ...accounts,
      find: (id) =>
        this.#server.call(process, {
          name: `account ${id}`,
          isWrite: false,
          execute: () => accounts.find(id),
        }),
    };
  }
}

/** Stores a meter with a higher version than the stored meter. Returns whether it was stored. */
function put(meters: Meters, id: string, head: MeterHead | undefined): boolean {
  if (head === undefined || head.version <= (meters.get(id)?.version ?? 0)) return false;
  meters.set(id, head);
  return true;
}
