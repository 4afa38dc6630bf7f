import {
  FEED_ROWS_MAX,
  type FeedChunk,
  type FeedHead,
  type FeedRow,
  type FeedStore,
} from '#storage/ports/feeds';
import type { BucketOf } from '#storage/ports/instances';
import type { SimulatedProcess } from '#test/simulation/simulated/process';
import { ReplicatedState } from '#test/simulation/simulated/replicated-state';
import type { SimulatedStore } from '#test/simulation/simulated/store';
import type { Replicas } from '#test/simulation/stored/replicas';

/** Stored feed of one account. */
type StoredFeed = {
  head: FeedHead | undefined;
  readonly chunks: Map<number, FeedChunk>;
  /** Whether the account is listed as one with webhook endpoints. */
  isListed: boolean;
};

/** Stored feeds by account. */
export type Feeds = Map<string, StoredFeed>;

/** Simulated store of feeds, with Cassandra's rules: the head with the highest version wins. */
export class SimulatedFeedStores {
  readonly #feeds: ReplicatedState<Feeds>;
  readonly #server: SimulatedStore;
  readonly #bucketOf: BucketOf;

  constructor(server: SimulatedStore, replicas: Replicas, bucketOf: BucketOf) {
    this.#feeds = new ReplicatedState(replicas, () => new Map());
    this.#server = server;
    this.#bucketOf = bucketOf;
  }

  /** Stored feeds, merged for each pair of replicas. */
  get pairs(): Feeds[] {
    return this.#feeds.pairs(mergeAll);
  }

  /** Feed store for a process. */
  feedsOf(process: SimulatedProcess): FeedStore {
    const read = <Answer>(name: string, id: string, answer: (feed: StoredFeed) => Answer) => {
      const mergeOne = (into: Feeds, from: Feeds) => merge(into, from, id);
      const execute = () => this.#feeds.read(name, mergeOne, (feeds) => answer(feedIn(feeds, id)));
      return this.#server.call(process, { name, isWrite: false, execute });
    };
    const write = (name: string, change: (feeds: Feeds) => void) => {
      const execute = () => this.#feeds.write(name, change);
      return this.#server.call(process, { name, isWrite: true, execute });
    };
    return {
      rowsMax: FEED_ROWS_MAX,
      bucketOf: this.#bucketOf,
      readHead: (id) => read(`feed of ${id}`, id, ({ head }) => head),
      readChunks: (id, first, last) =>
        read(`chunks of the feed of ${id}`, id, ({ chunks }) =>
          [...chunks.values()]
            .filter(({ chunk }) => chunk >= first && chunk <= last)
            .toSorted((one, other) => one.chunk - other.chunk),
        ),
      checkpoint: async (checkpoints) => {
        for (const { accountId, chunks } of checkpoints) {
          for (const chunk of chunks) {
            await write(`chunk ${chunk.chunk} of the feed of ${accountId}`, (feeds) => {
              feedIn(feeds, accountId).chunks.set(chunk.chunk, chunk);
            });
          }
        }
        const names = checkpoints.map(({ accountId, head }) => `${accountId} v${head.version}`);
        await write(`feeds of ${names.join(', ')}`, (feeds) => {
          for (const { accountId, head } of checkpoints) putHead(feedIn(feeds, accountId), head);
        });
      },
      // A store may lose the parts of an index.
      putIndexPart: async () => undefined,
      indexPart: async () => undefined,
      listEndpoints: (id) =>
        write(`webhook account ${id}`, (feeds) => {
          feedIn(feeds, id).isListed = true;
        }),
      withEndpoints: (bucket) => {
        const name = `webhook accounts of bucket ${bucket}`;
        const listed = (feeds: Feeds) =>
          [...feeds].flatMap(([id, { isListed }]) =>
            isListed && this.#bucketOf(id) === bucket ? [id] : [],
          );
        const execute = () => this.#feeds.read(name, mergeAll, listed);
        return this.#server.call(process, { name, isWrite: false, execute });
      },
    };
  }
}

/** All rows of a stored feed, in order. */
export function rowsIn({ head, chunks }: StoredFeed): FeedRow[] {
  const stored = [...chunks.values()].toSorted((one, other) => one.chunk - other.chunk);
  return [...stored.flatMap(({ rows }) => rows), ...(head?.newest ?? [])];
}

function feedIn(feeds: Feeds, id: string): StoredFeed {
  const known = feeds.get(id);
  if (known !== undefined) return known;
  const fresh = { head: undefined, chunks: new Map<number, FeedChunk>(), isListed: false };
  feeds.set(id, fresh);
  return fresh;
}

/** Stores a head with a higher version than the stored head. Returns whether it was stored. */
function putHead(feed: StoredFeed, head: FeedHead | undefined): boolean {
  if (head === undefined || head.version <= (feed.head?.version ?? 0)) return false;
  feed.head = head;
  return true;
}

function mergeAll(into: Feeds, from: Feeds): boolean {
  return [...from.keys()].map((id) => merge(into, from, id)).includes(true);
}

function merge(into: Feeds, from: Feeds, id: string): boolean {
  const source = from.get(id);
  if (source === undefined) return false;
  const target = feedIn(into, id);
  let hasChanged = putHead(target, source.head) || (source.isListed && !target.isListed);
  target.isListed ||= source.isListed;
  for (const [number, chunk] of source.chunks) {
    if (target.chunks.has(number)) continue;
    target.chunks.set(number, chunk);
    hasChanged = true;
  }
  return hasChanged;
}
