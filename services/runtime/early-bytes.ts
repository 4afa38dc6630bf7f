type Bucket<Actor> = { bytes: number; readonly actors: Map<Actor, number> };

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
      bucket = { bytes: 0, actors: new Map() };
      this.#buckets.set(bucketId, bucket);
    }
    const change = bytes - (bucket.actors.get(actor) ?? 0);
    if (bytes === 0) bucket.actors.delete(actor);
    else bucket.actors.set(actor, bytes);
    bucket.bytes += change;
    this.#total += change;
    if (bucket.actors.size === 0) this.#buckets.delete(bucketId);
  }

  /** The buckets, the one that has waited longest first. */
  buckets(): MapIterator<number> {
    return this.#buckets.keys();
  }

  /** Bytes of a bucket. */
  bytesOf(bucketId: number): number {
    return this.#buckets.get(bucketId)?.bytes ?? 0;
  }

  /** The actors of a bucket. */
  actorsOf(bucketId: number): Iterable<Actor> {
    return this.#buckets.get(bucketId)?.actors.keys() ?? [];
  }

  /** Puts a bucket behind the others: a write of it begins. */
  postpone(bucketId: number): void {
    const bucket = this.#buckets.get(bucketId);
    if (bucket === undefined) return;
    this.#buckets.delete(bucketId);
    this.#buckets.set(bucketId, bucket);
  }
}
