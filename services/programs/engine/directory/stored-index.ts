import type { AccountListing } from '#engine/directory/account-listing';
import type { IndexedRow } from '#engine/directory/fleet-columns';
import type { HeldValues, IndexedUntil } from '#engine/directory/fleet-index';
import { encodeIndexPart, IndexPart, partOf, partStart } from '#engine/directory/fleet-parts';
import { type FeedPageParts, isKnown } from '#engine/feed/pages';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import { CorruptState } from '#storage/ports/bytes';
import { type FeedStore, INDEX_PARTS } from '#storage/ports/feeds';

/** Accounts with fewer instances are not stored: their values are read from the owners at once. */
const INSTANCES_MIN = 16_384;

/** Parts that are read at once. */
const READS_IN_FLIGHT_MAX = 16;

/**
 * Maximum age of a stored part, in milliseconds. While an index is in use, each part is stored again
 * within a minute. A part of another time may lack changes that an earlier release did not record.
 */
export const STORED_MS_MAX = 5 * 60 * 1_000;

/** Whether the index of a listing is worth storing. */
export function isStored({ total }: AccountListing): boolean {
  return total >= INSTANCES_MIN;
}

/** Stored parts of the index of an account. A build takes from them what the owners need not answer. */
export class StoredIndex {
  readonly #parts: ReadonlyMap<number, IndexPart>;
  /** Position of the feed from which a build with these parts must follow the feed. */
  readonly until: IndexedUntil;

  private constructor(parts: ReadonlyMap<number, IndexPart>, until: IndexedUntil) {
    this.#parts = parts;
    this.until = until;
  }

  /**
   * Reads the parts of an account. Undefined: there are none that the feed continues. The feed does
   * not continue parts before its floor, and parts of another history, after a restored backup.
   * `sinceMs`: time of the oldest part, in Unix milliseconds.
   */
  static async read(pages: FeedPageParts, sinceMs: number): Promise<StoredIndex | undefined> {
    const { accountId, store, look } = pages;
    const parts = new Map<number, IndexPart>();
    const numbers = Array.from({ length: INDEX_PARTS }, (_, part) => part);
    await forEachConcurrently(numbers, READS_IN_FLIGHT_MAX, async (part) => {
      const found = await storedPart(accountId, part, store);
      if (found !== undefined && found.until.atMs > sinceMs) parts.set(part, found);
    });
    const byPosition = [...parts.values()]
      .map(({ until }) => until)
      .sort((a, b) => a.position - b.position);
    const [first, last] = [byPosition[0], byPosition.at(-1)];
    if (first === undefined || last === undefined) return undefined;
    const { position: seq, digest } = last;
    const view = await look(seq, 0);
    if (first.position < view.floor) return undefined;
    if (!(await isKnown({ seq, index: 0, digest }, view, pages))) return undefined;
    return new StoredIndex(parts, first);
  }

  /** Values of an instance; undefined if no part has them. Ids must come in ascending order. */
  valuesOf({ instanceId }: IndexedRow): HeldValues | undefined {
    return this.#parts.get(partOf(instanceId))?.take(instanceId);
  }
}

/** A part; undefined also for a damaged part, and for a part of a newer release. */
async function storedPart(
  accountId: string,
  part: number,
  store: FeedStore,
): Promise<IndexPart | undefined> {
  try {
    const bytes = await store.indexPart(accountId, part);
    return bytes && new IndexPart(bytes);
  } catch (error) {
    if (error instanceof CorruptState) return undefined;
    throw error;
  }
}

/** Stores one part of the index of a listing. `use` runs in a turn of the directory. */
export async function storePart(
  accountId: string,
  part: number,
  store: FeedStore,
  use: <Result>(read: (listing: AccountListing) => Result) => Promise<Result>,
): Promise<void> {
  const encoded = await use((listing) => {
    const { index } = listing;
    if (index === undefined || !index.isComplete) return undefined;
    const bytes = encodeIndexPart(index, listing.rowsFrom(partStart(part)));
    return bytes && { bytes, atMs: index.until.atMs };
  });
  if (encoded === undefined) return;
  await store.putIndexPart(accountId, part, encoded.bytes, encoded.atMs);
}
