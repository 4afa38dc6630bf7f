import assert from 'node:assert/strict';
import { hashText } from '#stdlib/hash-map';
import { type PackedModel, packedModel, unpackedModel } from '#storage/ports/packed-model';
import type { StatePosition, StateRange, StateRow } from '#storage/ports/states';

/** Processed observation. Source: interface 2.7. */
export type HistoryRow = {
  /** Number of the observation in the instance's whole history, from 1. */
  readonly ordinal: number;
  readonly generation: number;
  readonly cycle: number;
  /** Index of the mode in the model's fixed order. */
  readonly mode: number;
  readonly signal: number;
  readonly confidence: number;
  readonly contextJson: string;
  /** The observation's time in Unix milliseconds. */
  readonly timestampMs: number;
};

/** Cycle whose drift level was not D0. Source: interface 2.7, model 3.5. */
export type DriftRow = {
  /** Number of the drift event in the whole history of the instance, from 1. */
  readonly ordinal: number;
  readonly generation: number;
  readonly cycle: number;
  readonly level: string;
  readonly deviationJson: string;
  readonly affectedModesJson: string;
  readonly isRolledBack: boolean;
  readonly timestampMs: number;
};

/**
 * Time for which a stored answer is returned to repeated calls, in milliseconds. Source: decision
 * 22.
 */
export const ANSWER_AGE_MS = 24 * 60 * 60 * 1_000;

/**
 * Retention of a deleted instance's marker, and of the marker of its removed listing, in
 * milliseconds. Until then journals may still hold records of the instance. Source: architecture
 * 3.2.
 */
export const MARKER_AGE_MS = 40 * 24 * 60 * 60 * 1_000;

/**
 * Retention of a stored answer, in milliseconds. An hour longer than `ANSWER_AGE_MS`, for late
 * checkpoints.
 */
export const ANSWER_STORED_MS = ANSWER_AGE_MS + 60 * 60 * 1_000;

/** Stored answer to a call with an `Idempotency-Key`. Source: decision 22. */
export type AnswerRow = {
  /** Operation family and key. A create call and a later call may use the same key. */
  readonly key: string;
  readonly fingerprint: string;
  /** Empty for the key of a batch item, and if the answer has a position. */
  readonly body: string;
  /** Empty if the answer has a position. */
  readonly etag: string;
  /** Commit time of the first call in Unix milliseconds. The answer is kept for 24 h. */
  readonly atMs: number;
  /** Position whose state the answer shows. Present: a replay rebuilds body and tag from it. */
  readonly position?: AnswerPosition;
};

/** Position and version of an instance after an observation. */
export type AnswerPosition = StatePosition & { readonly version: number };

/**
 * Rows one after the other, oldest first, as a string with one character per byte. Heads, chunks
 * and idle instances in memory hold rows in this form. A string of n bytes takes n + 16 bytes of
 * memory, a buffer n + 540. No row depends on earlier rows, so new rows can be appended.
 */
export type PackedRows = string;

/**
 * Maximum number of rows in a chunk. Readers look this far beyond the newest row that they want.
 */
export const CHUNK_ROWS_MAX = 32;

/**
 * Rows that the store keeps as a single value, with ordinals from `first` to `last`. A chunk never
 * changes. A recovery may store rows again in chunks with other borders, but with the same content.
 */
export type Chunk = {
  readonly first: number;
  readonly last: number;
  readonly rows: PackedRows;
};

/** Rows that are in no chunk: all rows with ordinals above `after`. */
export type NewestRows = { readonly after: number; readonly rows: PackedRows };

/** Tags as JSON text, if there are none. */
export const NO_TAGS = '{}';

/** Tags as fields of a head. Without tags, a head has no field for them. */
export function headTags(tagsJson: string | undefined): Pick<InstanceHead, 'tagsJson'> {
  return tagsJson === undefined || tagsJson === NO_TAGS ? {} : { tagsJson };
}

/** Value for an instance that never had rows. */
export const NO_ROWS: NewestRows = { after: 0, rows: '' };

/** Committed call that may still be retried. Source: architecture 3.5. */
export type RecentCall = {
  readonly callId: number;
  readonly version: number;
  /** Server time of the commit in Unix milliseconds. */
  readonly atMs: number;
};

/**
 * State of an instance at one version, without the rows in chunks. Content is unique per (id,
 * version). A store neither changes a head nor keeps its array: a store in memory has packed heads.
 */
export type InstanceHead = {
  readonly version: number;
  readonly accountId: string;
  readonly name: string;
  readonly description: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Time of the deletion. If set, the head is only a deletion marker (architecture 3.2). */
  readonly deletedAtMs: number | undefined;
  /** Start of the first interval: creation, or last reset. */
  readonly originMs: number;
  /** Time of the last observation accepted in this generation. */
  readonly observedAtMs: number | undefined;
  readonly generation: number;
  /** Number of observations in all generations. */
  readonly historyCount: number;
  /** Number of observations in the generations before the current generation. */
  readonly historyStart: number;
  /** Number of drift events in all generations. */
  readonly driftCount: number;
  /** Number of drift events in the generations before the current generation. */
  readonly driftStart: number;
  /** Observations after the last chunk, up to `historyCount`. */
  readonly newestHistory: NewestRows;
  /** Drift events after the last chunk, up to `driftCount`. */
  readonly newestDrift: NewestRows;
  /** Floor of the instance's rows. Absent if no rows were trimmed. */
  readonly floor?: Floor;
  /** Tags: an object of keys and values, as JSON text. Absent if there are no tags. */
  readonly tagsJson?: string;
  /**
   * Time of the newest transition that moves it (`isNoted`), in Unix milliseconds. Absent: the
   * creation. Heads of release 1.0 have no time, also if the instance has changed.
   */
  readonly changedAtMs?: number;
  /** Model version of the vector (model 9). A replay needs the same model. */
  readonly modelVersion: string;
  /** State vector of the model (model 9: doubles, never rounded). */
  readonly model: Float64Array;
  /** Calls committed in the last 20 s before the version was stored. */
  readonly recentCalls: readonly RecentCall[];
};

/** Head with a packed model. Nobody can change the model, so several owners may share the head. */
export type PackedHead = HeadWith<PackedModel>;

/** Head in memory. Its model is packed unless an event has just changed it. */
export type HeldHead = HeadWith<Float64Array | PackedModel>;

type HeadWith<Model> = Omit<InstanceHead, 'model'> & { readonly model: Model };

/**
 * The head itself if its model is packed, otherwise a copy with a packed model. The copy names its
 * fields, because V8 stores fields that were added to an object later outside the object.
 */
export function packedHead(head: HeldHead): PackedHead {
  const { model, floor, tagsJson, changedAtMs } = head;
  if (typeof model === 'string') return head as PackedHead;
  return {
    version: head.version,
    accountId: head.accountId,
    name: head.name,
    description: head.description,
    createdAtMs: head.createdAtMs,
    updatedAtMs: head.updatedAtMs,
    deletedAtMs: head.deletedAtMs,
    originMs: head.originMs,
    observedAtMs: head.observedAtMs,
    generation: head.generation,
    historyCount: head.historyCount,
    historyStart: head.historyStart,
    driftCount: head.driftCount,
    driftStart: head.driftStart,
    newestHistory: head.newestHistory,
    newestDrift: head.newestDrift,
    modelVersion: head.modelVersion,
    model: packedModel(model),
    recentCalls: head.recentCalls,
    ...(floor === undefined ? {} : { floor }),
    ...(tagsJson === undefined ? {} : { tagsJson }),
    ...(changedAtMs === undefined ? {} : { changedAtMs }),
  };
}

/** A copy with a new array if the model of the head is packed, otherwise the head itself. */
export function unpackedHead(head: HeldHead): InstanceHead {
  const { model } = head;
  return typeof model === 'string'
    ? { ...head, model: unpackedModel(model) }
    : (head as InstanceHead);
}

/** Data of an instance for one checkpoint. */
export type InstanceCheckpoint = {
  readonly instanceId: string;
  readonly head: HeldHead;
  /** Chunks of rows that have left the head since the last checkpoint, oldest first. */
  readonly history: readonly Chunk[];
  readonly drift: readonly Chunk[];
  readonly answers: readonly AnswerRow[];
  /** States since the last checkpoint, oldest first. Absent: none. */
  readonly states?: readonly StateRow[] | undefined;
  /** Rows that the last checkpoint had trimmed. Set if the floor of the head has moved since. */
  readonly trimmedFrom?: RowCounts | undefined;
};

/** Answers of an instance without a checkpoint. No answer is newer than `version`. */
export type InstanceAnswers = {
  readonly instanceId: string;
  readonly version: number;
  readonly answers: readonly AnswerRow[];
};

/** Maximum number of heads that one call reads or stores. 64 heads of 2 kB fill half a batch. */
export const HEADS_MAX = 64;

/**
 * Maximum size of the heads in one batch, in bytes. Cassandra accepts 16 MiB, but small batches
 * keep its load even.
 */
export const HEADS_BYTES_MAX = 256 * 1_024;

/** Store of instances that are not in memory. Methods reject with `service_unavailable`. */
export interface InstanceStore {
  /**
   * Bucket of an instance. Instances of a bucket are read and stored together. The bucket never
   * changes.
   */
  bucketOf(instanceId: string): number;
  /** Head of the highest version ever stored; undefined if there is none. */
  readHead(instanceId: string): Promise<InstanceHead | undefined>;
  /**
   * Heads of at most `HEADS_MAX` instances in one bucket, in one read. Instances without a head are
   * left out. For a head that cannot be decoded, the map contains an `Error` with the reason.
   */
  readHeads(instanceIds: readonly string[]): Promise<ReadonlyMap<string, InstanceHead | Error>>;
  /**
   * Stores at most `HEADS_MAX` checkpoints of instances of one bucket. First writes the chunks, in
   * their order, the states and the answers, and waits until the store has confirmed each write. Then writes
   * the heads. If the heads have at most `HEADS_BYTES_MAX` together, either all heads are stored or
   * none.
   *
   * A checkpoint may be repeated and may arrive late, in any order: a version below the stored
   * version changes nothing. The head of a deleted instance deletes all its rows. Chunks may
   * overlap stored chunks with other borders; every row above the floor stays readable. If the
   * floor has moved, rows up to the floor are deleted before the head is stored, also from chunks
   * with later rows, and so are states at positions before the floor.
   */
  checkpoint(checkpoints: readonly InstanceCheckpoint[]): Promise<void>;
  /**
   * Stores any number of answers of one bucket's instances before their checkpoints. May be
   * repeated and may arrive late. The deletion of an instance deletes its answers.
   */
  storeAnswers(parts: readonly InstanceAnswers[]): Promise<void>;
  /**
   * Observations in chunks with ordinals from `newest` down, at most `count`, newest first. Throws
   * `CorruptState` for a damaged chunk.
   */
  readHistory(instanceId: string, newest: number, count: number): Promise<HistoryRow[]>;
  /** Drift events in chunks, as `readHistory` reads observations. */
  readDrift(instanceId: string, newest: number, count: number): Promise<DriftRow[]>;
  /** Stored states within a range of positions. Throws `CorruptState` for a damaged state. */
  readStates(instanceId: string, range: StateRange): Promise<StateRow[]>;
  /**
   * Stored states at these cycles of a generation, at most 200, in any order. Cycles
   * without a stored state are left out. Throws `CorruptState` for a damaged state.
   */
  findStates(
    instanceId: string,
    generation: number,
    cycles: readonly number[],
  ): Promise<StateRow[]>;
  /** Stored answer for a key; undefined if there is none or the answer is older than `oldestMs`. */
  findAnswer(instanceId: string, key: string, oldestMs: number): Promise<AnswerRow | undefined>;
  /**
   * Stored answers for at most 100 distinct keys, in any order. Keys without an answer are left
   * out. `oldestMs` as in `findAnswer`. A single read, if the store supports it.
   */
  findAnswers(
    instanceId: string,
    keys: readonly string[],
    oldestMs: number,
  ): Promise<readonly AnswerRow[]>;
  /**
   * All answers of at most `HEADS_MAX` instances of one bucket, in pages, in a stable order. Throws
   * `CorruptState`.
   */
  answerPages(instanceIds: readonly string[]): AsyncIterable<readonly InstanceAnswer[]>;
}

/** A stored answer and its instance. */
export type InstanceAnswer = { readonly instanceId: string; readonly answer: AnswerRow };

/** Instances for tools, which iterate over everything in storage order. */
export interface PagedInstances extends InstanceStore {
  /**
   * All heads of a bucket, including the markers of deleted instances, at most `HEADS_MAX` in a
   * page, in a stable order. A head that cannot be decoded is an `Error`. Heads stored during the
   * iteration may be missing.
   */
  headPages(bucket: number): AsyncIterable<ReadonlyMap<string, InstanceHead | Error>>;
  /**
   * Chunks of an instance with last ordinals above `after` and up to `newest`, lowest first. Throws
   * `CorruptState`.
   */
  chunkPages(
    table: 'history' | 'drift',
    instanceId: string,
    after: number,
    newest: number,
  ): AsyncIterable<readonly Chunk[]>;
}

/**
 * Returns the bucket of an actor's stored state. States of one bucket are stored in one write and
 * read in one read. The bucket of an actor never changes, because it is part of the storage key.
 */
export type BucketOf = (actorId: string) => number;

/**
 * Buckets per shard. 64 shards have 1,024 buckets. With 10,000,000 instances, each bucket has
 * 10,000 heads of 2 kB (20 MB). With more buckets, a write would have too few dirty actors. Must
 * never change.
 */
const BUCKETS_PER_SHARD = 16;

/**
 * Buckets of a cluster with `shardCount` shards. Buckets and shards use the same hash, so each
 * bucket belongs to one shard and has one owner.
 */
export function bucketsOf(shardCount: number): BucketOf {
  const count = bucketCountOf(shardCount);
  return (actorId) => hashText(actorId) % count;
}

/** Buckets of the actors of one shard. */
export function bucketsOfShard(shard: number, shardCount: number): number[] {
  return Array.from({ length: BUCKETS_PER_SHARD }, (_, at) => shard + at * shardCount);
}

/** Number of buckets in a cluster. Buckets are numbered from 0. */
export function bucketCountOf(shardCount: number): number {
  return shardCount * BUCKETS_PER_SHARD;
}

/**
 * Bucket that all given actors share; undefined if there are no actors. There may be at most `max`
 * actors.
 */
export function onlyBucketOf(
  bucketOf: BucketOf,
  actorIds: readonly string[],
  max = Number.POSITIVE_INFINITY,
): number | undefined {
  assert(actorIds.length <= max, `a call may name at most ${max} actors`);
  const [bucket, other] = new Set(actorIds.map(bucketOf));
  assert(other === undefined, 'all actors in one call must belong to one bucket');
  return bucket;
}

/** Number of rows from the oldest on, per table, counted over all generations. */
export type RowCounts = { readonly history: number; readonly drift: number };

/** Row counts of an instance that still has all its rows. */
export const NO_ROWS_TRIMMED: RowCounts = { history: 0, drift: 0 };

/**
 * Floor of an instance's rows (decision 234). Rows up to the floor were trimmed, because they were
 * older than the account's retention: the observations up to the ordinal `history`, and their drift
 * events.
 */
export type Floor = RowCounts & {
  /** Generation of the last trimmed observation. */
  readonly generation: number;
  /** Cycle of the last trimmed observation. */
  readonly cycle: number;
  /** Time of the last trimmed observation, in Unix milliseconds. */
  readonly timestampMs: number;
  /**
   * Model state after that observation (`packedState`). The rows above can be replayed from this
   * state. Undefined if the state is unknown.
   */
  readonly state: string | undefined;
};

/** Size of a number in a state, in bytes. */
const NUMBER_BYTES = 8;

/**
 * Packs a model state into a string with one character per byte, which takes less memory than an
 * array.
 */
export function packedState(state: Float64Array): string {
  const bytes = Buffer.alloc(NUMBER_BYTES * state.length);
  for (const [place, value] of state.entries()) bytes.writeDoubleLE(value, NUMBER_BYTES * place);
  return bytes.toString('latin1');
}

/** Unpacks a state that `packedState` packed. */
export function unpackedState(packed: string): Float64Array {
  const bytes = Buffer.from(packed, 'latin1');
  assert(bytes.length % NUMBER_BYTES === 0, 'a packed state has eight bytes per number');
  return Float64Array.from({ length: bytes.length / NUMBER_BYTES }, (_, place) =>
    bytes.readDoubleLE(NUMBER_BYTES * place),
  );
}

/** Number of trimmed rows of an instance. */
export function trimmedOf({ floor }: { readonly floor?: Floor | undefined }): RowCounts {
  return floor ?? NO_ROWS_TRIMMED;
}
