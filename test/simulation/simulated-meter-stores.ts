import type { AccountStore } from '#storage/account-store';
import type { BucketOf } from '#storage/bucket-of';
import { memoryAccountStore } from '#storage/memory/memory-account-store';
import { memoryMeterStore } from '#storage/memory/memory-meter-store';
import type { MeterStore } from '#storage/meter-store';
import type { SimulatedProcess } from '#test/simulation/simulated-process';
import type { SimulatedStore } from '#test/simulation/simulated-store';

/** Accounts and meters of a world, behind a store that fails. */
export class SimulatedMeterStores {
  /** The accounts as they are. None of their keys expires, so no time passes here. */
  readonly accounts: AccountStore = memoryAccountStore({ wallMs: () => 0 });
  /** The meters as they are: versioned, so what comes late or twice changes nothing. */
  readonly meters: MeterStore = memoryMeterStore();
  readonly #server: SimulatedStore;
  readonly #bucketOf: BucketOf;

  constructor(server: SimulatedStore, bucketOf: BucketOf) {
    this.#server = server;
    this.#bucketOf = bucketOf;
  }

  /** The meters as one process sees them. */
  metersOf(process: SimulatedProcess): MeterStore {
    const { meters } = this;
    return {
      bucketOf: this.#bucketOf,
      readHead: (id) =>
        this.#server.call(process, {
          name: `meter of ${id}`,
          isWrite: false,
          execute: () => meters.readHead(id),
        }),
      checkpoint: (checkpoints) => {
        const names = checkpoints.map(({ accountId, head }) => `${accountId} v${head.version}`);
        return this.#server.call(process, {
          name: `meters of ${names.join(', ')}`,
          isWrite: true,
          execute: () => meters.checkpoint(checkpoints),
        });
      },
    };
  }

  /** The accounts as one process sees them. Only meters read them while things fail. */
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
