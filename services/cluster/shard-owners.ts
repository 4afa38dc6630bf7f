import { Listeners, type Member, type Membership } from '#cluster/membership';
import type { ShardOwner } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { ShardRow, ShardStore } from '#storage/ports/cluster';

/** What a routing table is fed by. */
type ShardOwnersOptions = {
  readonly members: Membership;
  readonly shardCount: number;
  readonly clock: Clock;
};

/** Hears that a shard has another owner. */
type OwnerListener = (shard: number, owner: ShardOwner) => void;

/** Hears of a node that was not present before. */
type JoinedListener = (node: Pick<Member, 'incarnation' | 'address'>) => void;

/**
 * How long what was said of an owner that did not serve gives way to any other word, in
 * milliseconds: ten heartbeats, in which a living owner is heard. Source: decision 136.
 */
const DOUBTED_MS = 10_000;

/**
 * Where to send calls for a shard: what heartbeats, announcements and `not_owner` answers said, the
 * largest epoch of all. It never invents an owner, and silence on the bus takes none away: without
 * a bus serving goes on (architecture 3, 3.5). An owner that was asked and did not serve is
 * doubted: asked on as long as no other is named, but whatever epoch it had, the next word of
 * another one counts, so that no message is believed for ever (decision 136).
 */
export class ShardOwners implements Disposable {
  readonly #clock: Clock;
  readonly #owners: (ShardOwner | undefined)[];
  /** When each owner was learned, and until when it is doubted (monotonic). */
  readonly #learnedMs: number[];
  readonly #doubtedUntilMs: number[];
  /** What was believed of a shard, did not serve and had to give way to a lower epoch. */
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

  /** The owner of a shard; undefined as long as none was named. */
  ownerOf(shard: number): ShardOwner | undefined {
    return this.#owners[shard];
  }

  /**
   * Believes an owner whose epoch is larger than the one known, or any other than one that is
   * doubted. Returns whether it did. A shard that the cluster does not have is ignored.
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
   * The owner of a shard was asked at `askedMs` (monotonic), and refused or gave no answer. One
   * that was learned since is not meant.
   */
  doubt(shard: number, askedMs: number): void {
    if ((this.#learnedMs[shard] ?? Number.POSITIVE_INFINITY) > askedMs) return;
    this.#doubtedUntilMs[shard] = this.#clock.monotonicMs() + DOUBTED_MS;
  }

  /**
   * The shards' table was read from `askedMs` on and says `rows`: whom it does not name as the
   * owner, but the bus did before, is doubted.
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
   * The shards' table, each read of which also corrects what the bus has announced: a node reads it
   * every second anyway, and names the owners that it knows to its callers. Source: decision 136.
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

  /** Hears of every change of what `ownerOf` says. */
  onChange(listener: OwnerListener): Disposable {
    return this.#listeners.add(listener);
  }

  /** Hears of each node that comes, before it owns anything; again if it was silent meanwhile. */
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

/** Whether a word says no more than another one did: of the same node, at no larger epoch. */
function isCovered(word: ShardOwner, by: ShardOwner | undefined): boolean {
  if (by === undefined || word.epoch > by.epoch) return false;
  return word.incarnation === by.incarnation && word.address === by.address;
}
