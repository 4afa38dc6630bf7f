import { chunksAbove, rowsOfChunks } from '#storage/ports/chunks';
import {
  ANSWER_AGE_MS,
  type AnswerRow,
  CHUNK_ROWS_MAX,
  type Chunk,
  type Floor,
  HEADS_MAX,
  type InstanceCheckpoint,
  type InstanceHead,
  type PackedHead,
  type PagedInstances,
  packedHead,
  trimmedOf,
  unpackedHead,
} from '#storage/ports/instances';
import {
  type ListingRow,
  listedOf,
  listingBudget,
  type PagedListings,
} from '#storage/ports/listings';
import { DRIFT_EVENTS, OBSERVATIONS, type Packing, type RowReading } from '#storage/ports/rows';
import { comparePositions, type StateRow, statesIn } from '#storage/ports/states';

type Stored = {
  /** Newest head. Undefined if only answers have been stored so far. */
  head: PackedHead | undefined;
  /** Ordered by their last ordinals, ascending. */
  history: Chunk[] | undefined;
  drift: Chunk[] | undefined;
  /** Ordered by position. */
  states: readonly StateRow[] | undefined;
  /** Answers by key, each with the version of its write. */
  answers: Map<string, StoredAnswer> | undefined;
};

/** Instances in memory, lost when the process ends (interface 1.8). */
export function memoryInstanceStore(): PagedInstances {
  const instances = new Map<string, Stored>();

  return {
    bucketOf: () => 0,
    async readHead(instanceId) {
      const head = instances.get(instanceId)?.head;
      return head && unpackedHead(head);
    },
    async readHeads(instanceIds) {
      const heads = new Map<string, InstanceHead>();
      for (const instanceId of instanceIds) {
        const head = instances.get(instanceId)?.head;
        if (head !== undefined) heads.set(instanceId, unpackedHead(head));
      }
      return heads;
    },
    async checkpoint(checkpoints) {
      for (const checkpoint of checkpoints) store(instances, checkpoint);
    },
    async storeAnswers(parts) {
      for (const { instanceId, version, answers } of parts) {
        const stored = instances.get(instanceId) ?? nothingStored();
        if (stored.head?.deletedAtMs !== undefined) continue;
        instances.set(instanceId, stored);
        keep(stored, answers, version);
      }
    },
    async readHistory(instanceId, newest, count) {
      return rowsOf(OBSERVATIONS, instanceId, instances.get(instanceId)?.history, newest, count);
    },
    async readDrift(instanceId, newest, count) {
      return rowsOf(DRIFT_EVENTS, instanceId, instances.get(instanceId)?.drift, newest, count);
    },
    async readStates(instanceId, range) {
      return statesIn(instances.get(instanceId)?.states ?? [], range);
    },
    async findStates(instanceId, generation, cycles) {
      const wanted = new Set(cycles);
      const states = instances.get(instanceId)?.states ?? [];
      return states.filter((row) => row.generation === generation && wanted.has(row.cycle));
    },
    async findAnswer(instanceId, key, oldestMs) {
      const stored = instances.get(instanceId)?.answers?.get(key);
      if (stored === undefined || stored.atMs < oldestMs) return undefined;
      return rowOf(stored);
    },
    async findAnswers(instanceId, keys, oldestMs) {
      const answers = instances.get(instanceId)?.answers;
      const found = keys.flatMap((key) => answers?.get(key) ?? []);
      return found.filter(({ atMs }) => atMs >= oldestMs).map(rowOf);
    },
    ...pagesOf(instances),
  };
}

type StoredAnswer = AnswerRow & { readonly version: number };

function rowOf({ version: _, ...row }: StoredAnswer): AnswerRow {
  return row;
}

/** Iteration over instances for tools. All instances are in bucket 0. */
function pagesOf(
  instances: ReadonlyMap<string, Stored>,
): Pick<PagedInstances, 'headPages' | 'answerPages' | 'chunkPages'> {
  const inBucket = (bucket: number) => (bucket === 0 ? [...instances] : []);
  return {
    async *headPages(bucket) {
      const heads = inBucket(bucket).flatMap(([id, { head }]) =>
        head === undefined ? [] : [[id, unpackedHead(head)] as const],
      );
      for (let from = 0; from < heads.length; from += HEADS_MAX) {
        yield new Map(heads.slice(from, from + HEADS_MAX));
      }
    },
    async *answerPages(instanceIds) {
      for (const instanceId of instanceIds) {
        const answers = instances.get(instanceId)?.answers;
        if (answers === undefined) continue;
        yield [...answers.values()].map((answer) => ({ instanceId, answer: rowOf(answer) }));
      }
    },
    async *chunkPages(table, instanceId, after, newest) {
      const chunks = instances.get(instanceId)?.[table] ?? [];
      yield chunks.slice(placeOf(chunks, after + 1), placeOf(chunks, newest + 1));
    },
  };
}

function store(
  instances: Map<string, Stored>,
  { instanceId, head, history, drift, answers, states, trimmedFrom }: InstanceCheckpoint,
): void {
  const stored = instances.get(instanceId) ?? nothingStored();
  if ((stored.head?.version ?? 0) > head.version) return;
  instances.set(instanceId, stored);
  if (head.deletedAtMs === undefined) {
    stored.history = placed(stored.history, history);
    stored.drift = placed(stored.drift, drift);
    stored.states = statesWith(stored.states, states);
    if (trimmedFrom !== undefined) {
      const floor = trimmedOf(head);
      stored.history = above(OBSERVATIONS, instanceId, stored.history, floor.history);
      stored.drift = above(DRIFT_EVENTS, instanceId, stored.drift, floor.drift);
      stored.states = statesFrom(stored.states, head.floor);
    }
    keep(stored, answers, head.version);
  } else {
    stored.history = undefined;
    stored.drift = undefined;
    stored.states = undefined;
    stored.answers = undefined;
  }
  stored.head = packedHead(head);
}

function nothingStored(): Stored {
  return {
    head: undefined,
    history: undefined,
    drift: undefined,
    states: undefined,
    answers: undefined,
  };
}

/** States with added states, ordered by position. Most instances have none. */
function statesWith(
  states: readonly StateRow[] | undefined,
  added: readonly StateRow[] = [],
): readonly StateRow[] | undefined {
  if (added.length === 0) return states;
  const others = (states ?? []).filter(
    (row) => !added.some((other) => comparePositions(row, other) === 0),
  );
  return [...others, ...added].sort(comparePositions);
}

/** States at the floor and after. */
function statesFrom(
  states: readonly StateRow[] = [],
  floor: Floor | undefined,
): readonly StateRow[] | undefined {
  if (floor === undefined) return states;
  const left = states.filter((row) => comparePositions(row, floor) >= 0);
  return left.length === 0 ? undefined : left;
}

/** Inserts chunks in order. Most instances have no chunks, and then no list is created. */
function placed(chunks: Chunk[] | undefined, added: readonly Chunk[]): Chunk[] | undefined {
  if (added.length === 0) return chunks;
  const all = chunks ?? [];
  for (const chunk of added) {
    const place = placeOf(all, chunk.last);
    all.splice(place, all[place]?.last === chunk.last ? 1 : 0, chunk);
  }
  return all;
}

/** Chunks reduced to the rows above a floor; undefined if no chunk is left. */
function above<Row extends { readonly ordinal: number }>(
  packing: Packing<Row>,
  instanceId: string,
  chunks: readonly Chunk[] = [],
  floor: number,
): Chunk[] | undefined {
  const left = chunks.slice(placeOf(chunks, floor + 1));
  return left.length === 0
    ? undefined
    : placed(left, chunksAbove(packing, instanceId, left, floor));
}

/** Index of the first chunk whose last ordinal is at least `ordinal`. */
function placeOf(chunks: readonly Chunk[], ordinal: number): number {
  let low = 0;
  let high = chunks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((chunks[middle]?.last ?? 0) < ordinal) low = middle + 1;
    else high = middle;
  }
  return low;
}

function rowsOf<Row extends { readonly ordinal: number }>(
  packing: RowReading<Row>,
  instanceId: string,
  chunks: readonly Chunk[] = [],
  newest: number,
  count: number,
): Row[] {
  const from = placeOf(chunks, Math.max(0, newest - count) + 1);
  const to = placeOf(chunks, newest + CHUNK_ROWS_MAX);
  return rowsOfChunks(packing, instanceId, chunks.slice(from, to).reverse(), newest, count);
}

/** Adds answers, oldest first, and drops expired answers. */
function keep(stored: Stored, added: readonly AnswerRow[], version: number): void {
  if (added.length === 0) return;
  stored.answers ??= new Map();
  for (const row of added) {
    if ((stored.answers.get(row.key)?.version ?? 0) > version) continue;
    // A reused key moves to the newest end of the map.
    stored.answers.delete(row.key);
    stored.answers.set(row.key, { ...row, version });
  }
  const newestMs = added.at(-1)?.atMs ?? 0;
  for (const [key, { atMs }] of stored.answers) {
    if (atMs >= newestMs - ANSWER_AGE_MS) break;
    stored.answers.delete(key);
  }
}

type Account = { readonly rows: Map<string, ListingRow>; readonly removed: Map<string, number> };

/**
 * Listings in memory, lost when the process ends (interface 1.8). Rows are not copied, because they
 * never change.
 */
export function memoryListingStore(): PagedListings {
  const accounts = new Map<string, Account>();
  const accountOf = (accountId: string): Account => {
    const known = accounts.get(accountId);
    if (known !== undefined) return known;
    const fresh: Account = { rows: new Map(), removed: new Map() };
    accounts.set(accountId, fresh);
    return fresh;
  };
  const versionOf = ({ rows, removed }: Account, instanceId: string): number =>
    Math.max(rows.get(instanceId)?.version ?? 0, removed.get(instanceId) ?? 0);

  return {
    async put(accountId, row) {
      const account = accountOf(accountId);
      if (row.version > versionOf(account, row.instanceId)) account.rows.set(row.instanceId, row);
    },
    async remove(accountId, instanceId, version) {
      const account = accountOf(accountId);
      if (version <= versionOf(account, instanceId)) return;
      account.rows.delete(instanceId);
      account.removed.set(instanceId, version);
    },
    async listed(accountId, bytesMax) {
      const spend = listingBudget(bytesMax);
      return [...(accounts.get(accountId)?.rows.values() ?? [])].map((row) => {
        const listed = listedOf(row);
        spend(listed);
        return listed;
      });
    },
    async find(accountId, instanceId) {
      return accounts.get(accountId)?.rows.get(instanceId);
    },
    async *pages(accountId) {
      const rows = [...(accounts.get(accountId)?.rows.values() ?? [])];
      if (rows.length > 0) yield rows.sort((a, b) => (a.instanceId < b.instanceId ? -1 : 1));
    },
    async load(accountId) {
      return [...(accounts.get(accountId)?.rows.values() ?? [])];
    },
  };
}
