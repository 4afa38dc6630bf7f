import assert from 'node:assert/strict';
import { hashText } from '#platform/hash';

/** One processed observation. Source: interface 2.7. */
export type HistoryRow = {
  /** Counts the instance's observations for life, from 1: the place of the row in the whole history. */
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

/** One cycle whose drift level was not D0. Source: interface 2.7, model 3.5. */
export type DriftRow = {
  /** Counts the instance's drift events for life, from 1. */
  readonly ordinal: number;
  readonly generation: number;
  readonly cycle: number;
  readonly level: string;
  readonly deviationJson: string;
  readonly affectedModesJson: string;
  readonly isRolledBack: boolean;
  readonly timestampMs: number;
};

/** How long a stored answer is given again. Source: decision 22. */
export const ANSWER_AGE_MS = 24 * 60 * 60 * 1_000;

/**
 * How long the marker of a deleted instance stays, and that of its removal from a listing: journals may
 * hold records of it. Architecture 3.2.
 */
export const MARKER_AGE_MS = 40 * 24 * 60 * 60 * 1_000;

/** How long an answer is stored: an hour longer, for a checkpoint that comes late. */
export const ANSWER_STORED_MS = ANSWER_AGE_MS + 60 * 60 * 1_000;

/** The stored answer to a call with an `Idempotency-Key`. Source: decision 22. */
export type AnswerRow = {
  /** Operation family and key: a create and a later call may use the same key. */
  readonly key: string;
  readonly fingerprint: string;
  readonly body: string;
  readonly etag: string;
  /** When the first call was committed, in Unix milliseconds; kept for 24 h. */
  readonly atMs: number;
};

/**
 * Rows one behind the other, oldest first, as bytes: a character each. They stand so in heads, in
 * chunks and in the memory of every idle instance, where a text of n bytes takes n + 16 and a
 * buffer n + 540. A row follows from nothing before it, so that more are added behind the last.
 */
export type PackedRows = string;

/** Rows of one chunk at most: a reader looks so far beyond the newest row that it wants. */
export const CHUNK_ROWS_MAX = 32;

/**
 * Rows that the store keeps as one, with the ordinals from `first` to `last`. They never change: rows
 * that are stored again, by a recovery, may stand in chunks of other borders, but with the same content.
 */
export type Chunk = {
  readonly first: number;
  readonly last: number;
  readonly rows: PackedRows;
};

/** The rows that no chunk holds: all with ordinals above `after`. */
export type NewestRows = { readonly after: number; readonly rows: PackedRows };

/** Of an instance that never had any. */
export const NO_ROWS: NewestRows = { after: 0, rows: '' };

/** A committed call that may yet be retried. Source: architecture 3.5. */
export type RecentCall = {
  readonly callId: number;
  readonly version: number;
  /** Server time of the commit in Unix milliseconds. */
  readonly atMs: number;
};

/**
 * Everything of an instance but the rows that are in chunks, as of one version. Content is unique per
 * (id, version). A value: neither the store nor its user ever changes one, the model vector included.
 */
export type InstanceHead = {
  readonly version: number;
  readonly accountId: string;
  readonly name: string;
  readonly description: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Set when the instance was deleted: then the head is only a marker (architecture 3.2). */
  readonly deletedAtMs: number | undefined;
  /** From when the first interval is counted: creation or the last reset. */
  readonly originMs: number;
  /** Time of the last accepted observation of this generation. */
  readonly observedAtMs: number | undefined;
  readonly generation: number;
  /** Observations of all generations, and how many of them lie before the current one. */
  readonly historyCount: number;
  readonly historyStart: number;
  readonly driftCount: number;
  readonly driftStart: number;
  /** The observations from the last chunk up to `historyCount`, and the drift events likewise. */
  readonly newestHistory: NewestRows;
  readonly newestDrift: NewestRows;
  /** Absent: every row is still there. */
  readonly floor?: Floor;
  /** The model that the vector belongs to (model 9): a replay needs the same one. */
  readonly modelVersion: string;
  /** The model's state vector (model 9: doubles, never rounded). */
  readonly model: Float64Array;
  /** Calls of the last 20 s before the version was stored. */
  readonly recentCalls: readonly RecentCall[];
};

/** What one checkpoint of an instance stores. */
export type InstanceCheckpoint = {
  readonly instanceId: string;
  readonly head: InstanceHead;
  /** Oldest first; what the head of the checkpoint before had in it, and has no more. */
  readonly history: readonly Chunk[];
  readonly drift: readonly Chunk[];
  readonly answers: readonly AnswerRow[];
  /** What had been trimmed by the checkpoint before, where the head's floor has moved since. */
  readonly trimmedFrom?: RowCounts | undefined;
};

/** Answers of an instance without a checkpoint, and a version that none of them is newer than. */
export type InstanceAnswers = {
  readonly instanceId: string;
  readonly version: number;
  readonly answers: readonly AnswerRow[];
};

/** Heads that one call reads or stores at most: 64 of 2 kB are half of what one batch may hold. */
export const HEADS_MAX = 64;

/** Bytes of heads that one batch stores. Cassandra takes 16 MiB; much less keeps it even. Chosen. */
export const HEADS_BYTES_MAX = 256 * 1_024;

/** Where instances rest when they are not in memory. Methods throw `service_unavailable`. */
export interface InstanceStore {
  /** Instances with the same bucket are read and stored together; fixed for each. */
  bucketOf(instanceId: string): number;
  /** The head of the highest version ever stored, or undefined. */
  readHead(instanceId: string): Promise<InstanceHead | undefined>;
  /**
   * The heads of at most `HEADS_MAX` instances of one bucket, in one read; without those that have
   * none. An `Error` stands where a head cannot be decoded: it says why, and the others are read.
   */
  readHeads(instanceIds: readonly string[]): Promise<ReadonlyMap<string, InstanceHead | Error>>;
  /**
   * Stores at most `HEADS_MAX` checkpoints of instances of one bucket: chunks, in their order, and
   * answers, each confirmed, then the heads, all of them or none while they have no more than
   * `HEADS_BYTES_MAX` together. May be repeated and may come late, in any order: a version below the
   * stored one changes nothing. A head that is deleted takes all rows with it. Chunks may overlap what
   * is stored, with other borders: every row above the floor stays readable. Where the floor has moved,
   * the rows up to it go, those in a chunk with later ones too; the head is stored after that.
   */
  checkpoint(checkpoints: readonly InstanceCheckpoint[]): Promise<void>;
  /**
   * Stores answers of instances of one bucket before the checkpoints that they belong to, however many.
   * May be repeated and may come late; those of a deleted instance go with it.
   */
  storeAnswers(parts: readonly InstanceAnswers[]): Promise<void>;
  /**
   * Of the observations in chunks those with ordinals from `newest` downwards, at most `count`, newest
   * first. Throws `CorruptState` when a chunk is not what was written; `readDrift` does too.
   */
  readHistory(instanceId: string, newest: number, count: number): Promise<HistoryRow[]>;
  /** The same of drift events. */
  readDrift(instanceId: string, newest: number, count: number): Promise<DriftRow[]>;
  /** The stored answer for a key, unless it is older than `oldestMs`. */
  findAnswer(instanceId: string, key: string, oldestMs: number): Promise<AnswerRow | undefined>;
  /**
   * The same of several keys, in any order and without those that have no answer: at most 100, each named
   * once, in one read if the store can.
   */
  findAnswers(
    instanceId: string,
    keys: readonly string[],
    oldestMs: number,
  ): Promise<readonly AnswerRow[]>;
}

/** A stored answer, and whose it is. */
export type InstanceAnswer = { readonly instanceId: string; readonly answer: AnswerRow };

/** Instances as tools go through them: everything, as it is stored. */
export interface PagedInstances extends InstanceStore {
  /**
   * Every head of a bucket, markers of deleted instances included, at most `HEADS_MAX` in a page, in
   * an order that is always the same. An `Error` stands where a head cannot be decoded. What is stored
   * meanwhile may be missing.
   */
  headPages(bucket: number): AsyncIterable<ReadonlyMap<string, InstanceHead | Error>>;
  /**
   * Every answer of at most `HEADS_MAX` instances of one bucket, page by page, in an order that is
   * always the same. Throws `CorruptState`.
   */
  answerPages(instanceIds: readonly string[]): AsyncIterable<readonly InstanceAnswer[]>;
  /**
   * The chunks of an instance with last ordinals above `after` up to `newest`, the lowest first.
   * Throws `CorruptState`.
   */
  chunkPages(
    table: 'history' | 'drift',
    instanceId: string,
    after: number,
    newest: number,
  ): AsyncIterable<readonly Chunk[]>;
}

/**
 * The bucket in which the stored state of an actor lies: what is in one bucket is stored in one
 * write and read in one read. The same for ever: it says where stored states lie.
 */
export type BucketOf = (actorId: string) => number;

/**
 * Buckets of a shard. 64 shards then make 1,024 buckets: of 10,000,000 instances 10,000 heads of
 * 2 kB, 20 MB, lie in one. More would leave too few dirty actors for one write. Fixed for ever.
 */
const BUCKETS_PER_SHARD = 16;

/**
 * The buckets of a cluster with that many shards. They use the hash that gives actors their shards,
 * so that all of a bucket lies in one shard, and has one owner.
 */
export function bucketsOf(shardCount: number): BucketOf {
  const count = bucketCountOf(shardCount);
  return (actorId) => hashText(actorId) % count;
}

/** How many buckets there are then: their numbers count from 0. */
export function bucketCountOf(shardCount: number): number {
  return shardCount * BUCKETS_PER_SHARD;
}

/** The bucket that all of these actors lie in, of which there are at most `max`; undefined for none. */
export function onlyBucketOf(
  bucketOf: BucketOf,
  actorIds: readonly string[],
  max = Number.POSITIVE_INFINITY,
): number | undefined {
  assert(actorIds.length <= max, `more than ${max} of them at once`);
  const [bucket, other] = new Set(actorIds.map(bucketOf));
  assert(other === undefined, 'those of one call are of one bucket');
  return bucket;
}

/** How many of an instance's oldest rows are meant, in each of the tables: counted for life. */
export type RowCounts = { readonly history: number; readonly drift: number };

/** Of an instance that still has all its rows. */
export const NO_ROWS_TRIMMED: RowCounts = { history: 0, drift: 0 };

/**
 * Below which rows an instance has none any more, because they were older than its account keeps them
 * (decision 234): the observations up to the ordinal `history`, and the drift events that they brought.
 */
export type Floor = RowCounts & {
  /** Of the last observation below the floor: its generation, cycle and time. */
  readonly generation: number;
  readonly cycle: number;
  readonly timestampMs: number;
  /**
   * The model's state after that observation (`packedState`), from which the rows above can be run
   * again; undefined where it was not known.
   */
  readonly state: string | undefined;
};

/** Bytes of one number of a state. */
const NUMBER_BYTES = 8;

/** A model's state as a text of a character for each byte, which takes less memory than an array. */
export function packedState(state: Float64Array): string {
  const bytes = Buffer.alloc(NUMBER_BYTES * state.length);
  for (const [place, value] of state.entries()) bytes.writeDoubleLE(value, NUMBER_BYTES * place);
  return bytes.toString('latin1');
}

/** The state of such a text. */
export function unpackedState(packed: string): Float64Array {
  const bytes = Buffer.from(packed, 'latin1');
  assert(bytes.length % NUMBER_BYTES === 0, 'a state is whole numbers of eight bytes');
  return Float64Array.from({ length: bytes.length / NUMBER_BYTES }, (_, place) =>
    bytes.readDoubleLE(NUMBER_BYTES * place),
  );
}

/** The rows of an instance that are gone. */
export function trimmedOf({ floor }: { readonly floor?: Floor | undefined }): RowCounts {
  return floor ?? NO_ROWS_TRIMMED;
}
