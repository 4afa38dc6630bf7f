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

/** Number of replicas per row, and the quorum. */
export const REPLICAS = 3;
const QUORUM = 2;

/** Probabilities per mutation or read, and replica. */
export type ReplicaFaults = {
  /** Receives a mutation up to seconds late. */
  readonly late: number;
  /** Receives a mutation much later, as a hint of another replica. */
  readonly hinted: number;
  /** Receives a mutation twice. */
  readonly doubled: number;
  /** Never receives a mutation, except by read repair. */
  readonly lost: number;
  /** Does not answer a read. */
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

/** Delays of delayed mutations, hints and duplicates, in milliseconds. */
const LATE_MS = [1, 3_000] as const;
const HINT_MS = [3_000, 90_000] as const;
const DOUBLE_MS = [1, 12_000] as const;

/** Delay until a returned replica receives its hints, in milliseconds. */
const RETURN_MS = [0, 5_000] as const;

/** Timeout of the coordinator in milliseconds; in half of the cases it never answers. */
const GIVE_UP_MS = [5, 1_500] as const;

/** Called after a replica has applied a mutation. */
export type AppliedListener<Key extends RowKey, Row> = (
  partition: string,
  mutation: Mutation<Key, Row>,
) => void;

/** A request's name and number of replicas; a quorum unless broken on purpose. */
type Asked = { readonly name: string; readonly replicas?: number | undefined };

/**
 * Three simulated servers, which may each receive a row at once, late or never. A write is answered
 * once two have it; the third may receive it at any time. A read asks two, and repairs both before
 * the answer.
 */
export class Replicas {
  readonly world: World;
  faults: ReplicaFaults = NO_REPLICA_FAULTS;
  /** Pending changes for absent replicas. */
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

  /** Random available replicas. */
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

  /** Runs an action on a replica at once, late or never. */
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

  /** Applies a write on every replica at once, late or never; resolves at a quorum. */
  write(name: string, apply: (replica: number) => void, quorum = QUORUM): Promise<void> {
    const all = Array.from({ length: REPLICAS }, (_, replica) => replica);
    return this.#until(quorum, name, true, (done) => this.#sendAll(all, name, apply, done));
  }

  /** Reads from random replicas; resolves when all have answered. */
  ask(name: string, look: (replica: number) => void, quorum = QUORUM): Promise<void> {
    const { random } = this.world;
    return this.#until(quorum, name, false, (done) => {
      for (const replica of this.#draw(quorum)) {
        if (random.happens(this.faults.mute)) continue;
        this.world.after(random.between(...TRAVEL_MS), () => {
          look(replica);
          done();
        });
      }
    });
  }

  /** Repairs replicas after a read; resolves when all have applied it. */
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

  /** Sends to some replicas; `done` is called once per applied replica. */
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

  /** Resolves after `count` calls of `done`; otherwise rejects or never settles. */
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

/** A table on the replicas, by partition. */
export class ReplicatedTable<Key extends RowKey, Row> {
  readonly #replicas: Replicas;
  readonly #resolve: Resolve<Row>;
  readonly #onApplied: AppliedListener<Key, Row>;
  readonly #partitions = new Map<string, readonly ReplicaPartition<Key, Row>[]>();

  /** `resolve` decides between two rows with equal key and timestamp. */
  constructor(
    replicas: Replicas,
    resolve: Resolve<Row>,
    onApplied: AppliedListener<Key, Row> = () => undefined,
  ) {
    this.#replicas = replicas;
    this.#resolve = resolve;
    this.#onApplied = onApplied;
  }

  /** Writes; resolves when a quorum has the mutation. */
  write(partition: string, mutation: Mutation<Key, Row>, asked: Asked): Promise<void> {
    const apply = (replica: number) => this.#apply(partition, replica, mutation);
    return this.#replicas.write(asked.name, apply, asked.replicas);
  }

  /** Rows of a range in order; a quorum has them when this resolves. */
  async read(
    partition: string,
    query: Query<Key, Row>,
    { name, replicas }: Asked,
  ): Promise<readonly Cell<Key, Row>[]> {
    const parts = new Map<number, ReturnType<ReplicaPartition<Key, Row>['read']>>();
    const look = (replica: number) => {
      parts.set(replica, this.#partition(partition, replica).read(query));
    };
    await this.#replicas.ask(name, look, replicas);
    const all = merged([...parts.values()], query, this.#resolve);
    const lacking = [...parts.keys()].filter((replica) => {
      const { cells, deletions } = this.#partition(partition, replica).lacking(all);
      return cells.length + deletions.length > 0;
    });
    const apply = (replica: number) => this.#apply(partition, replica, all);
    await this.#replicas.repair(name, lacking, apply);
    return all.cells;
  }

  /** Rows of a key on each replica, for outside watchers. */
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
    if (found === undefined) throw new Error(`there is no replica ${replica}`);
    return found;
  }
}

function silence(name: string, isWrite: boolean): Fault {
  const text = `${name}: too few replicas have answered`;
  return new Fault('service_unavailable', text, { isOutcomeUnknown: isWrite });
}
