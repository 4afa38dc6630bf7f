import { Fault } from '#errors/fault';
import {
  type Cell,
  type Mutation,
  merged,
  type Query,
  ReplicaPartition,
  type Resolve,
  type RowKey,
} from '#test/simulation/faults/replica-partition';
import type { World } from '#test/simulation/world';

/** Number of replicas of each row. */
export const REPLICAS = 3;

/** Number of replicas in a quorum. */
const QUORUM = 2;

/** Fault probabilities for each mutation or read on each replica. */
export type ReplicaFaults = {
  /** The mutation arrives up to 3 s late. */
  readonly late: number;
  /** The mutation arrives up to 90 s late, as a hint from another replica. */
  readonly hinted: number;
  /** The mutation arrives twice. */
  readonly doubled: number;
  /** The mutation arrives only by read repair. */
  readonly lost: number;
  /** The replica does not answer a read. */
  readonly mute: number;
};

/** Replicas without faults. */
export const NO_REPLICA_FAULTS: ReplicaFaults = {
  late: 0,
  hinted: 0,
  doubled: 0,
  lost: 0,
  mute: 0,
};

/** Network latency between two servers, in milliseconds. */
const TRAVEL_MS = [0.05, 0.6] as const;

/** Delay of a late mutation, in milliseconds. */
const LATE_MS = [1, 3_000] as const;

/** Delay of a mutation that arrives as a hint, in milliseconds. */
const HINT_MS = [3_000, 90_000] as const;

/** Delay of a duplicate after the usual latency, in milliseconds. */
const DOUBLE_MS = [1, 12_000] as const;

/** Delay until a replica that is up again receives its hints, in milliseconds. */
const RETURN_MS = [0, 5_000] as const;

/** Timeout of the coordinator in milliseconds. Half of all timeouts are not reported. */
const GIVE_UP_MS = [5, 1_500] as const;

/** Called after a replica has applied a mutation. */
export type AppliedListener<Key extends RowKey, Row> = (
  partition: string,
  mutation: Mutation<Key, Row>,
) => void;

/** Name of a request in the trace. Flawed variants set `replicas`, which replaces the quorum. */
type Asked = { readonly name: string; readonly replicas?: number | undefined };

/**
 * Three simulated servers. A mutation may reach each server immediately, late or never. A write is
 * answered when two servers have applied it. A read asks two servers, and repairs both before the
 * answer.
 */
export class Replicas {
  readonly world: World;
  faults: ReplicaFaults = NO_REPLICA_FAULTS;
  /** Mutations kept for replicas that are down. */
  readonly #away = new Map<number, (() => void)[]>();

  constructor(world: World) {
    this.world = world;
  }

  /** Takes a replica down or up. */
  setAway(replica: number, isAway: boolean): void {
    const kept = this.#away.get(replica) ?? [];
    if (isAway) {
      this.#away.set(replica, kept);
      return;
    }
    this.#away.delete(replica);
    for (const apply of kept) {
      this.world.after(this.world.random.between(...RETURN_MS), () => this.#arrive(replica, apply));
    }
  }

  /** Brings every replica up and stops new delays. */
  heal(): void {
    this.faults = NO_REPLICA_FAULTS;
    for (const replica of [...this.#away.keys()]) this.setAway(replica, false);
  }

  /** Draws replicas that are up. */
  #draw(count: number): number[] {
    const there = Array.from({ length: REPLICAS }, (_, replica) => replica).filter(
      (replica) => !this.#away.has(replica),
    );
    const drawn: number[] = [];
    while (drawn.length < count && there.length > 0) {
      drawn.push(...there.splice(this.world.random.whole(0, there.length - 1), 1));
    }
    return drawn;
  }

  /** Applies a mutation to a replica immediately, late or never. */
  #send(replica: number, name: string, apply: () => void): void {
    const { random } = this.world;
    const { late, hinted, lost, doubled } = this.faults;
    const drawn = late + hinted + lost === 0 ? 1 : random.unit();
    const travelMs = random.between(...TRAVEL_MS);
    const arriveIn = (delayMs: number): void => {
      this.world.after(delayMs, () => this.#arrive(replica, apply));
    };
    if (drawn < lost) this.world.note(`replica ${replica} ${name}: lost`);
    else if (drawn < lost + late + hinted) {
      const [from, to] = drawn < lost + late ? LATE_MS : HINT_MS;
      const delayMs = random.between(from, to);
      this.world.note(`replica ${replica} ${name}: in ${delayMs.toFixed(0)} ms`);
      arriveIn(delayMs);
    } else arriveIn(travelMs);
    if (random.happens(doubled)) arriveIn(travelMs + random.between(...DOUBLE_MS));
  }

  /** Writes to every replica. Resolves when a quorum has applied the write. */
  write(name: string, apply: (replica: number) => void, quorum = QUORUM): Promise<void> {
    const all = Array.from({ length: REPLICAS }, (_, replica) => replica);
    return this.#until(quorum, name, true, (done) => this.#sendAll(all, name, apply, done));
  }

  /** Reads from a random quorum. Resolves when all replicas of the quorum have answered. */
  ask(name: string, readFrom: (replica: number) => void, quorum = QUORUM): Promise<void> {
    const { random } = this.world;
    return this.#until(quorum, name, false, (done) => {
      for (const replica of this.#draw(quorum)) {
        if (random.happens(this.faults.mute)) continue;
        this.world.after(random.between(...TRAVEL_MS), () => {
          readFrom(replica);
          done();
        });
      }
    });
  }

  /** Repairs replicas after a read. Resolves when all have applied the repair. */
  async repair(
    name: string,
    replicas: readonly number[],
    apply: (replica: number) => void,
  ): Promise<void> {
    if (replicas.length === 0) return;
    await this.#until(replicas.length, name, false, (done) =>
      this.#sendAll(replicas, `repair for ${name}`, apply, done),
    );
  }

  /** Sends a mutation to replicas. Calls `done` once for each replica that has applied it. */
  #sendAll(
    replicas: readonly number[],
    name: string,
    apply: (replica: number) => void,
    done: () => void,
  ): void {
    for (const replica of replicas) {
      let isFirst = true;
      this.#send(replica, name, () => {
        apply(replica);
        if (isFirst) done();
        isFirst = false;
      });
    }
  }

  /** Resolves after `count` calls of `done`. May reject earlier, or may never settle. */
  #until(count: number, name: string, isWrite: boolean, begin: (done: () => void) => void) {
    return new Promise<void>((resolve, reject) => {
      let left = count;
      const gaveUp = this.#givesUp(() => reject(silence(name, isWrite)));
      begin(() => {
        left -= 1;
        if (left !== 0) return;
        gaveUp?.[Symbol.dispose]();
        this.world.after(this.world.random.between(...TRAVEL_MS), resolve);
      });
    });
  }

  #givesUp(giveUp: () => void): Disposable | undefined {
    const { random } = this.world;
    const { late, hinted, lost, mute } = this.faults;
    const isFaultless = late + hinted + lost + mute === 0 && this.#away.size === 0;
    if (isFaultless || random.happens(0.5)) return undefined;
    return this.world.after(random.between(...GIVE_UP_MS), giveUp);
  }

  #arrive(replica: number, apply: () => void): void {
    const kept = this.#away.get(replica);
    if (kept === undefined) apply();
    else kept.push(apply);
  }
}

/** A replicated table. */
export class ReplicatedTable<Key extends RowKey, Row> {
  readonly #replicas: Replicas;
  readonly #resolve: Resolve<Row>;
  readonly #onApplied: AppliedListener<Key, Row>;
  readonly #partitions = new Map<string, readonly ReplicaPartition<Key, Row>[]>();

  /** `resolve` is the tie-break between rows with equal keys and timestamps. */
  constructor(
    replicas: Replicas,
    resolve: Resolve<Row>,
    onApplied: AppliedListener<Key, Row> = () => undefined,
  ) {
    this.#replicas = replicas;
    this.#resolve = resolve;
    this.#onApplied = onApplied;
  }

  /** Writes a mutation. Resolves when a quorum has applied the mutation. */
  write(partition: string, mutation: Mutation<Key, Row>, asked: Asked): Promise<void> {
    const apply = (replica: number) => this.#apply(partition, replica, mutation);
    return this.#replicas.write(asked.name, apply, asked.replicas);
  }

  /** Reads the rows of a range in order. A quorum has all these rows when the read resolves. */
  async read(
    partition: string,
    query: Query<Key, Row>,
    { name, replicas }: Asked,
  ): Promise<readonly Cell<Key, Row>[]> {
    const parts = new Map<number, ReturnType<ReplicaPartition<Key, Row>['read']>>();
    const readFrom = (replica: number) => {
      parts.set(replica, this.#partition(partition, replica).read(query));
    };
    await this.#replicas.ask(name, readFrom, replicas);
    const all = merged([...parts.values()], query, this.#resolve);
    const lacking = [...parts.keys()].filter((replica) => {
      const { cells, deletions } = this.#partition(partition, replica).lacking(all);
      return cells.length + deletions.length > 0;
    });
    const apply = (replica: number) => this.#apply(partition, replica, all);
    await this.#replicas.repair(name, lacking, apply);
    return all.cells;
  }

  /** Row of a key on each replica, for checks. */
  rowsOf(partition: string, key: Key): (Row | undefined)[] {
    const replicas = this.#partitions.get(partition) ?? [];
    return Array.from({ length: REPLICAS }, (_, replica) => replicas[replica]?.row(key));
  }

  #apply(partition: string, replica: number, mutation: Mutation<Key, Row>): void {
    this.#partition(partition, replica).apply(mutation);
    this.#onApplied(partition, mutation);
  }

  #partition(partition: string, replica: number): ReplicaPartition<Key, Row> {
    const fresh = () =>
      Array.from({ length: REPLICAS }, () => new ReplicaPartition<Key, Row>(this.#resolve));
    const replicas = this.#partitions.get(partition) ?? fresh();
    this.#partitions.set(partition, replicas);
    const found = replicas[replica];
    if (found === undefined) throw new Error(`replica ${replica} does not exist`);
    return found;
  }
}

function silence(name: string, isWrite: boolean): Fault {
  const text = `${name}: too few replicas answered in time`;
  return new Fault('service_unavailable', text, { isOutcomeUnknown: isWrite });
}
