import type { TailRecord } from '#node/tail-reader';
import { cutLoose } from '#runtime/record-codec';
import type { RecoveredTail } from '#runtime/shard-gate';
import type { BucketOf } from '#storage/bucket-of';

/** Records of a shard that were recovered for one epoch. */
type Claim = { readonly tails: Map<string, RecoveredTail>; readonly offset: number };

/**
 * Records of a failed node's journal, by the shard and epoch that they were recovered for:
 * kept until the claim to that epoch is decided, used only by an opening of exactly that epoch, and
 * then until their actors have been activated (architecture 3.3).
 */
export class RecoveredRecords {
  /** By shard, then by the epoch of a claim that is undecided. */
  readonly #claims = new Map<number, Map<number, Claim>>();
  /** By shard: the actors of an open shard that are not activated. */
  readonly #open = new Map<number, Map<string, RecoveredTail>>();
  readonly #bucketOf: BucketOf;
  #replayedActors = 0;

  /** `bucketOf` says which actors' stored states can be read together. */
  constructor(bucketOf: BucketOf) {
    this.#bucketOf = bucketOf;
  }

  /** Keeps records, in journal order, for the claim to `epoch`; `offset` is that of the first. */
  hold(shard: number, epoch: number, records: readonly TailRecord[], offset: number): void {
    const tails = new Map<string, RecoveredTail>();
    const byActor = Map.groupBy(records, ({ actor, actorId }) => keyOf(actor, actorId));
    for (const [key, ofActor] of byActor) {
      // They stay until their actor is activated; most of the text they were cut from is not theirs.
      tails.set(key, { lines: cutLoose(ofActor.map(({ line }) => line)), offset });
    }
    const claims = this.#claims.get(shard) ?? new Map<number, Claim>();
    claims.set(epoch, { tails, offset });
    this.#claims.set(shard, claims);
  }

  /** Whether the records for this claim are here already. */
  isHeld(shard: number, epoch: number): boolean {
    return this.#claims.get(shard)?.has(epoch) ?? false;
  }

  /** The claim to `epoch` is won: its records now belong to the actors of the shard. */
  open(shard: number, epoch: number): void {
    const claim = this.#claims.get(shard)?.get(epoch);
    this.decide(shard, epoch);
    if (claim === undefined || claim.tails.size === 0) return;
    this.#open.set(shard, this.#byBucket(claim.tails));
  }

  /** Those of one bucket one after the other: eager activation goes by this order. */
  #byBucket(tails: ReadonlyMap<string, RecoveredTail>): Map<string, RecoveredTail> {
    const placed = [...tails].map(([key, tail]) => ({
      key,
      tail,
      bucket: this.#bucketOf(idOf(key)),
    }));
    placed.sort((a, b) => a.bucket - b.bucket);
    return new Map(placed.map(({ key, tail }) => [key, tail]));
  }

  /** The row stands at `epoch`: claims up to it are decided, and what was lost may go. */
  decide(shard: number, epoch: number): void {
    const claims = this.#claims.get(shard);
    for (const claimed of [...(claims?.keys() ?? [])])
      if (claimed <= epoch) claims?.delete(claimed);
    if (claims?.size === 0) this.#claims.delete(shard);
  }

  /** What an actor must replay when it is activated. */
  tailOf(shard: number, actor: string, actorId: string): RecoveredTail | undefined {
    return this.#open.get(shard)?.get(keyOf(actor, actorId));
  }

  /** The actor has replayed its records; its checkpointer keeps account of them from now on. */
  activated(shard: number, actor: string, actorId: string): void {
    this.#replayedActors += 1;
    const tails = this.#open.get(shard);
    tails?.delete(keyOf(actor, actorId));
    if (tails?.size === 0) this.#open.delete(shard);
  }

  /** How many actors have replayed their records so far. */
  get replayedActors(): number {
    return this.#replayedActors;
  }

  /** Ids of a kind's actors in an open shard that are not activated, at most `count`. */
  waiting(shard: number, actor: string, count: number): string[] {
    const prefix = keyOf(actor, '');
    const ids: string[] = [];
    for (const key of this.#open.get(shard)?.keys() ?? []) {
      if (ids.length >= count) break;
      if (key.startsWith(prefix)) ids.push(key.slice(prefix.length));
    }
    return ids;
  }

  /** Whether any actor of the kind in an open shard has not been activated. */
  hasWaiting(shard: number, actor: string): boolean {
    return this.waiting(shard, actor, 1).length > 0;
  }

  /** The lowest offset that anything here still needs; infinite for none. */
  get lowest(): number {
    let lowest = Number.POSITIVE_INFINITY;
    for (const claims of this.#claims.values()) {
      for (const { offset } of claims.values()) lowest = Math.min(lowest, offset);
    }
    for (const tails of this.#open.values()) {
      for (const { offset } of tails.values()) lowest = Math.min(lowest, offset);
    }
    return lowest;
  }

  /** Records that wait for their actors or for a claim's end. */
  get size(): number {
    let size = 0;
    const count = (tails: ReadonlyMap<string, RecoveredTail>) => {
      for (const { lines } of tails.values()) size += lines.length;
    };
    for (const claims of this.#claims.values())
      for (const { tails } of claims.values()) count(tails);
    for (const tails of this.#open.values()) count(tails);
    return size;
  }
}

function keyOf(actor: string, actorId: string): string {
  return `${actor}:${actorId}`;
}

function idOf(key: string): string {
  return key.slice(key.indexOf(':') + 1);
}
