import { strict as assert } from 'node:assert';
import { Listeners, type Member, type Membership } from '#cluster/membership';
import type { ShardOwner } from '#errors/fault';
import type { Clock } from '#stdlib/clock';
import { hashText, mixBits } from '#stdlib/hash-map';
import type { ShardRow, ShardStore } from '#storage/ports/cluster';

/** Options of a routing table. */
type ShardOwnersOptions = {
  readonly members: Membership;
  readonly shardCount: number;
  readonly clock: Clock;
};

/** Called when a shard has a new owner. */
type OwnerListener = (shard: number, owner: ShardOwner) => void;

/** Called with a node that was not present before. */
type JoinedListener = (node: Pick<Member, 'incarnation' | 'address'>) => void;

/**
 * Time for which a doubted owner can be replaced by an owner with a lower epoch, in milliseconds.
 * Ten heartbeat periods, so that a running owner is heard in this time. Source: decision 136.
 */
const DOUBTED_MS = 10_000;

/**
 * Routing table: the address to which calls for a shard are sent. Sources are heartbeats,
 * announcements and `not_owner` answers; the largest epoch wins. The table never guesses an owner.
 * Silence on the bus removes no owner, so serving continues without a bus (architecture 3, 3.5).
 *
 * An owner that was called and did not serve is doubted. Calls are still sent to a doubted owner
 * while no other owner is known. The next message about another owner replaces the entry, whatever
 * its epoch. So the effect of a forged message is temporary (decision 136).
 */
export class ShardOwners implements Disposable {
  readonly #clock: Clock;
  readonly #owners: (ShardOwner | undefined)[];
  /** Monotonic time at which each owner was learned. */
  readonly #learnedMs: number[];
  /** Monotonic time until which each owner is doubted. */
  readonly #doubtedUntilMs: number[];
  /**
   * Former owners per shard that did not serve and were replaced by an owner with a lower epoch.
   */
  readonly #refuted = new Map<number, ShardOwner>();
  readonly #listeners = new Listeners<Parameters<OwnerListener>>();
  readonly #joinedListeners = new Listeners<Parameters<JoinedListener>>();
  #present: ReadonlySet<string> = new Set();
  readonly #opened = new DisposableStack();

  constructor({ members, shardCount, clock }: ShardOwnersOptions) {
    this.#clock = clock;
    this.#owners = Array.from({ length: shardCount }, () => undefined);
    this.#learnedMs = this.#owners.map(() => Number.NEGATIVE_INFINITY);
    this.#doubtedUntilMs = this.#owners.map(() => Number.NEGATIVE_INFINITY);
    this.#opened.use(
      members.onHeartbeat(({ incarnation, address, shards }) => {
        for (const [shard, epoch] of shards) this.learn(shard, { incarnation, address, epoch });
      }),
    );
    this.#opened.use(
      members.onAnnouncement(({ shard, incarnation, address, epoch }) => {
        this.learn(shard, { incarnation, address, epoch });
      }),
    );
    this.#opened.use(members.onChange(() => this.#notifyJoined(members.present())));
  }

  /** Owner of a shard; undefined while none is known. */
  ownerOf(shard: number): ShardOwner | undefined {
    return this.#owners[shard];
  }

  /**
   * Stores an owner if its epoch is larger than the epoch of the known owner, or if the known owner
   * is doubted and differs. Returns whether the owner was stored. Ignores shards beyond the
   * cluster's count.
   */
  learn(shard: number, { incarnation, address, epoch }: ShardOwner): boolean {
    if (!(shard in this.#owners)) return false;
    const owner = { incarnation, address, epoch };
    const known = this.#owners[shard];
    if (known !== undefined) {
      if (!this.#isBelieved(shard, owner, known)) return false;
      if (epoch <= known.epoch) this.#refuted.set(shard, known);
    }
    this.#owners[shard] = owner;
    this.#learnedMs[shard] = this.#clock.monotonicMs();
    this.#doubtedUntilMs[shard] = Number.NEGATIVE_INFINITY;
    this.#listeners.notify(shard, owner);
    return true;
  }

  /**
   * Marks the owner of a shard as doubted, because a call at `askedMs` (monotonic) was refused or
   * got no answer. Owners learned after `askedMs` are not affected.
   */
  doubt(shard: number, askedMs: number): void {
    if ((this.#learnedMs[shard] ?? Number.POSITIVE_INFINITY) > askedMs) return;
    this.#doubtedUntilMs[shard] = this.#clock.monotonicMs() + DOUBTED_MS;
  }

  /**
   * Compares this routing table with `rows` of the shard table. `askedMs` is the time at which the
   * read of the rows began (monotonic). Doubts each owner that the rows do not confirm.
   */
  check(rows: readonly ShardRow[], askedMs: number): void {
    const byShard = new Map(rows.map((row) => [row.shard, row]));
    for (const [shard, known] of this.#owners.entries()) {
      const row = byShard.get(shard);
      if (known === undefined) continue;
      if (row?.owner === known.incarnation && row.epoch === known.epoch) continue;
      this.doubt(shard, askedMs);
    }
  }

  /**
   * Wraps a shard store so that each `load` also corrects ownership that the bus has announced. A
   * node reads the shard table every second anyway, and answers callers with the owners that it
   * knows. Source: decision 136.
   */
  checkedBy(shards: ShardStore): ShardStore {
    return {
      ...shards,
      load: async (service, count) => {
        const askedMs = this.#clock.monotonicMs();
        const rows = await shards.load(service, count);
        this.check(rows, askedMs);
        return rows;
      },
    };
  }

  /** Registers a listener for changes of `ownerOf`. */
  onChange(listener: OwnerListener): Disposable {
    return this.#listeners.add(listener);
  }

  /**
   * Registers a listener for nodes that join, before they own shards. The listener is called again
   * for a node that fell silent and is heard again.
   */
  onJoined(listener: JoinedListener): Disposable {
    return this.#joinedListeners.add(listener);
  }

  [Symbol.dispose](): void {
    this.#opened.dispose();
    this.#listeners.clear();
    this.#joinedListeners.clear();
  }

  #isBelieved(shard: number, owner: ShardOwner, known: ShardOwner): boolean {
    const isDoubted = (this.#doubtedUntilMs[shard] ?? 0) > this.#clock.monotonicMs();
    if (isDoubted) return !isCovered(owner, known);
    return owner.epoch > known.epoch && !isCovered(owner, this.#refuted.get(shard));
  }

  #notifyJoined(present: readonly Member[]): void {
    const before = this.#present;
    this.#present = new Set(present.map(({ incarnation }) => incarnation));
    for (const { incarnation, address } of present) {
      if (before.has(incarnation)) continue;
      this.#joinedListeners.notify({ incarnation, address });
    }
  }
}

/**
 * Whether `word` adds nothing to `by`: both name the same node, and the epoch of `word` is not
 * larger.
 */
function isCovered(word: ShardOwner, by: ShardOwner | undefined): boolean {
  if (by === undefined || word.epoch > by.epoch) return false;
  return word.incarnation === by.incarnation && word.address === by.address;
}

/** Multiplier that spreads shard numbers before they are mixed with a node's hash: 2^32 / phi. */
const SHARD_SPREAD = 0x9e3779b1;

/**
 * Maximum number of node-shard pairs. A pair and its 32-bit weight must fit together into one exact
 * number: 2^53 / 2^32.
 */
const PAIRS_MAX = 2 ** 21;

/**
 * Assigns each shard to a node by consistent hashing with bounded loads (architecture 3). Every
 * pair of node and shard has a pseudo-random weight. Pairs are taken in order of weight while the
 * shard is free and the node is below its share.
 *
 * Loads therefore differ by at most one shard, the order of `nodes` does not matter, and a change
 * of `nodes` moves few shards beyond the necessary moves. `nodes` must be distinct names. Returns
 * an empty array without nodes.
 */
export function assignShards(nodes: readonly string[], shardCount: number): string[] {
  assert(new Set(nodes).size === nodes.length, 'node names on the ring must be distinct');
  const sorted = [...nodes].sort();
  const shareMin = Math.floor(shardCount / sorted.length);
  // Number of nodes that have one shard more than the others.
  let largerShares = shardCount % sorted.length;
  const loads = new Uint32Array(sorted.length);
  const assigned: string[] = [];
  let free = sorted.length === 0 ? 0 : shardCount;
  for (const pair of pairsByWeight(sorted, shardCount)) {
    if (free === 0) break;
    const shard = pair % shardCount;
    const node = (pair - shard) / shardCount;
    const load = loads[node] ?? 0;
    const isLarger = load === shareMin;
    if (assigned[shard] !== undefined || load > shareMin || (isLarger && largerShares === 0)) {
      continue;
    }
    if (isLarger) largerShares -= 1;
    loads[node] = load + 1;
    assigned[shard] = sorted[node] ?? '';
    free -= 1;
  }
  return assigned;
}

/**
 * Returns a memoized `assignShards` that keeps its last result. A large ring takes milliseconds to
 * compute, and views seldom change.
 */
export function cachedRing(shardCount: number): (nodes: readonly string[]) => readonly string[] {
  let view = '';
  let owners: readonly string[] = [];
  return (nodes) => {
    const asked = nodes.join('\n');
    if (asked !== view) {
      owners = nodes.length === 0 ? [] : assignShards(nodes, shardCount);
      view = asked;
    }
    return owners;
  };
}

/**
 * The `count` nodes that follow `node` on the circle of node hashes, nearest first. `node` itself
 * is excluded and need not be in `nodes`. Source: architecture 3.3 (watchers).
 */
export function nodesAfter(node: string, nodes: readonly string[], count: number): string[] {
  const start = hashText(node);
  const place = (name: string): number => (hashText(name) - start) >>> 0;
  return nodes
    .filter((name) => name !== node)
    .sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1))
    .slice(0, count);
}

/** All pairs, encoded as `node * shardCount + shard`, heaviest first. */
function pairsByWeight(nodes: readonly string[], shardCount: number): Float64Array {
  assert(nodes.length * shardCount <= PAIRS_MAX, `at most ${PAIRS_MAX} pairs of node and shard`);
  const pairs = new Float64Array(nodes.length * shardCount);
  let pair = 0;
  for (const node of nodes) {
    const hash = hashText(node);
    for (let shard = 0; shard < shardCount; shard += 1) {
      const weight = mixBits(hash ^ Math.imul(shard + 1, SHARD_SPREAD)) >>> 0;
      // The weight is in the high digits and the pair in the low digits, so the typed array sorts
      // without a comparator.
      pairs[pair] = -(weight * PAIRS_MAX) + pair;
      pair += 1;
    }
  }
  pairs.sort();
  // The weight is a multiple of PAIRS_MAX, so the remainder is the pair.
  return pairs.map((sorted) => sorted - Math.floor(sorted / PAIRS_MAX) * PAIRS_MAX);
}

/**
 * Shard of an actor, 0 to `shardCount` - 1. The result for an id and a count must never change in
 * any version, because routers and owners must agree. Source: architecture 3.
 */
export function shardOf(actorId: string, shardCount: number): number {
  return hashText(actorId) % shardCount;
}

/** `shardOf` for a fixed number of shards. */
export function shardsOf(shardCount: number): (id: string) => number {
  return (id) => shardOf(id, shardCount);
}
