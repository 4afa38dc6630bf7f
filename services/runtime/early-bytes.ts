/** The actors of a bucket and the bytes of each. */
type Bucket<Actor> = Map<Actor, number>;

/**
 * Keeps account of the bytes of early rows (`EarlyRows`), bucket by bucket, the one that has waited
 * longest first.
 */
export class EarlyBytes<Actor> {
  readonly #buckets = new Map<number, Bucket<Actor>>();
  #total = 0;

  /** Bytes of all of them. */
  get total(): number {
    return this.#total;
  }

  /** Notes how many bytes an actor has now; 0 also for one that is not here any more. */
  set(bucketId: number, actor: Actor, bytes: number): void {
    let bucket = this.#buckets.get(bucketId);
    if (bucket === undefined) {
      if (bytes === 0) return;
      bucket = new Map();
      this.#buckets.set(bucketId, bucket);
    }
    this.#total += bytes - (bucket.get(actor) ?? 0);
    if (bytes === 0) bucket.delete(actor);
    else bucket.set(actor, bytes);
    if (bucket.size === 0) this.#buckets.delete(bucketId);
  }

  /** The buckets, the one that has waited longest first. */
  buckets(): MapIterator<number> {
    return this.#buckets.keys();
  }

  /** Actors of a bucket, at most `count` and of at most `bytesMax` together, unless it is one. */
  oldestOf(bucketId: number, count: number, bytesMax: number): { actors: Actor[]; bytes: number } {
    const actors: Actor[] = [];
    let bytes = 0;
    for (const [actor, held] of this.#buckets.get(bucketId) ?? []) {
      const isTooMuch = actors.length === count || bytes + held > bytesMax;
      if (actors.length > 0 && isTooMuch) break;
      actors.push(actor);
      bytes += held;
    }
    return { actors, bytes };
  }

  /** Puts a bucket behind the others: a write of it has ended. */
  postpone(bucketId: number): void {
    const bucket = this.#buckets.get(bucketId);
    if (bucket === undefined) return;
    this.#buckets.delete(bucketId);
    this.#buckets.set(bucketId, bucket);
  }
}
