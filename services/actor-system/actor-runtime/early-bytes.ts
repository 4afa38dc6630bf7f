/** Bytes of early rows in one bucket, by actor. */
type Bucket<Actor> = Map<Actor, number>;

/** Bytes of early rows (`EarlyRows`) by bucket. The bucket that has waited longest comes first. */
export class EarlyBytes<Actor> {
  readonly #buckets = new Map<number, Bucket<Actor>>();
  #total = 0;

  /** Bytes of all early rows. */
  get total(): number {
    return this.#total;
  }

  /** Sets the bytes of an actor. 0 removes the actor. */
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

  /** Bucket numbers; the bucket that has waited longest comes first. */
  buckets(): MapIterator<number> {
    return this.#buckets.keys();
  }

  /**
   * Oldest actors of a bucket: at most `count`, and at most `bytesMax` together unless the first
   * alone exceeds it.
   */
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

  /** Moves a bucket behind all others after a write of it. */
  postpone(bucketId: number): void {
    const bucket = this.#buckets.get(bucketId);
    if (bucket === undefined) return;
    this.#buckets.delete(bucketId);
    this.#buckets.set(bucketId, bucket);
  }
}
