import type { CommitLog } from '#actor-runtime/commit-log';
import type { ShardGate } from '#actor-runtime/host-ports';
import type { IndexedValues } from '#engine/directory/fleet-index';
import { type Indexed, indexedBy, indexedValues } from '#engine/directory/indexed-values';
import { faultFor } from '#errors/fault';
import type { Models } from '#identity/model';
import type { HeldHead, InstanceHead } from '#storage/ports/instances';

type IndexedReadsPorts = {
  readonly gate: ShardGate;
  readonly log: Pick<CommitLog, 'isLeased' | 'whenConfirmed'>;
  readonly models: Models;
  /** Whether this process records transitions. */
  readonly isRecording: () => boolean;
  /** Instances in memory: the host of their actors. */
  readonly instances: {
    read<Result>(
      id: string,
      read: (state: { readonly head: HeldHead | undefined }) => Result,
    ): Promise<Result | undefined>;
    activateEagerly(id: string): void;
  };
  readonly storedHeadOf: (instanceId: string) => Promise<InstanceHead | undefined>;
};

/** Values of the instances that this process owns, for the indexes of all directories. */
export class IndexedReads {
  readonly #ports: IndexedReadsPorts;

  constructor(ports: IndexedReadsPorts) {
    this.#ports = ports;
  }

  /** Reads values. Instances of shards that this process does not serve are unanswered. */
  async read(ids: readonly string[]): Promise<Indexed> {
    const { log, isRecording } = this.#ports;
    // Changes that are not recorded would be missing in the index for ever.
    if (!isRecording()) return { values: new Map(), unanswered: new Set(ids) };
    const { values, unanswered } = await indexedBy(ids, (id) => this.#valuesOf(id));
    // A stored head is the newest one only if no other process has served its shard.
    if (!log.isLeased()) await log.whenConfirmed();
    const isLost = (id: string) => unanswered.has(id) || !this.#isServed(id);
    return { values, unanswered: new Set(ids.filter(isLost)) };
  }

  #isServed(id: string): boolean {
    const { gate } = this.#ports;
    try {
      gate.assertOpen(gate.shardOf(id));
      return true;
    } catch {
      return false;
    }
  }

  async #valuesOf(id: string): Promise<IndexedValues | undefined> {
    const { gate, instances, models, storedHeadOf } = this.#ports;
    const shard = gate.shardOf(id);
    gate.assertOpen(shard);
    // The model of a head in memory changes in place, so its values are read before any wait.
    const inMemory = () =>
      instances.read(id, ({ head }) => ({ values: head && indexedValues(id, head, models) }));
    const active = await inMemory();
    if (active !== undefined) return active.values;
    if (gate.tailOf(shard, 'instance', id) !== undefined) {
      // Records of a failed node are not in the stored head. They are replayed at the activation.
      instances.activateEagerly(id);
      throw faultFor('engine_unavailable', 'an instance is being recovered', { retryAfterS: 1 });
    }
    const head = await storedHeadOf(id);
    // The instance may have replayed such records meanwhile.
    const activated = await inMemory();
    if (activated !== undefined) return activated.values;
    return head && indexedValues(id, head, models);
  }
}
