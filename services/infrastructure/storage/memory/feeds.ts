import {
  chunkOf,
  decodeFeedChunk,
  decodeFeedHead,
  encodeFeedChunk,
  encodeFeedHead,
} from '#storage/ports/feed-codec';
import type { ErasableFeeds, FeedCheckpoint } from '#storage/ports/feeds';

/** Maximum number of rows of a feed, about 80 MB. */
const ROWS_MAX = 1_000_000;

/** A head as bytes, with the fields that later writes are compared with. */
type Stored = { readonly version: number; readonly floor: number; readonly bytes: Buffer };

/**
 * Feeds in memory, lost when the process ends (interface 1.8). Stored as bytes, which are small
 * copies. Chunks below the floor of the stored head are deleted.
 */
export function memoryFeedStore(): ErasableFeeds {
  const heads = new Map<string, Stored>();
  /** Chunks by account and number. */
  const chunks = new Map<string, Map<number, Buffer>>();
  const erased = new Set<string>();
  const withEndpoints = new Set<string>();
  /** Parts of indexes by account and number. */
  const indexes = new Map<string, Map<number, Buffer>>();

  const keep = ({ accountId, head, chunks: whole }: FeedCheckpoint): void => {
    const { version, floor } = head;
    const bytes = encodeFeedHead(head);
    const before = heads.get(accountId);
    const stored =
      before !== undefined && before.version > version ? before : { version, floor, bytes };
    const own = chunks.get(accountId) ?? new Map<number, Buffer>();
    for (const chunk of whole) own.set(chunk.chunk, encodeFeedChunk(chunk));
    for (const chunk of own.keys()) if (chunk < chunkOf(stored.floor)) own.delete(chunk);
    chunks.set(accountId, own);
    heads.set(accountId, stored);
  };

  return {
    rowsMax: ROWS_MAX,
    bucketOf: () => 0,
    async readHead(accountId) {
      const stored = heads.get(accountId);
      return stored && decodeFeedHead(accountId, stored.bytes);
    },
    async readChunks(accountId, first, last) {
      const own = chunks.get(accountId);
      const wanted = Array.from({ length: last - first + 1 }, (_, index) => first + index);
      return wanted.flatMap((chunk) => {
        const bytes = own?.get(chunk);
        return bytes === undefined ? [] : [decodeFeedChunk(accountId, chunk, bytes)];
      });
    },
    async checkpoint(checkpoints) {
      for (const checkpoint of checkpoints) {
        if (!erased.has(checkpoint.accountId)) keep(checkpoint);
      }
    },
    async listEndpoints(accountId) {
      if (!erased.has(accountId)) withEndpoints.add(accountId);
    },
    async withEndpoints() {
      return [...withEndpoints];
    },
    async putIndexPart(accountId, part, bytes) {
      if (erased.has(accountId)) return;
      const own = indexes.get(accountId) ?? new Map<number, Buffer>();
      indexes.set(accountId, own.set(part, Buffer.from(bytes)));
    },
    async indexPart(accountId, part) {
      return indexes.get(accountId)?.get(part);
    },
    async erase(accountId) {
      indexes.delete(accountId);
      withEndpoints.delete(accountId);
      heads.delete(accountId);
      chunks.delete(accountId);
      erased.add(accountId);
    },
  };
}
