import { chunksAbove, rowsOfChunks } from '#storage/ports/chunks';
import {
  type AnswerRow,
  type Chunk,
  type DriftRow,
  type HistoryRow,
  type InstanceCheckpoint,
  type InstanceHead,
  NO_ROWS_TRIMMED,
  type RowCounts,
} from '#storage/ports/instances';
import type { ListingRow } from '#storage/ports/listings';
import { DRIFT_EVENTS, OBSERVATIONS } from '#storage/ports/rows';
import { comparePositions, type StatePosition, type StateRow } from '#storage/ports/states';

type Stamped<Row> = { readonly row: Row; readonly version: number };
type Partition = {
  head: InstanceHead | undefined;
  headStamp: number;
  /** Rows up to this version are deleted. */
  deletedVersion: number;
  /** Chunks up to these ordinals are deleted if their version is at most `trimmedVersion`. */
  trimmed: TrimmedTo;
  trimmedVersion: number;
  /** Chunks by last ordinal. */
  readonly history: Map<number, Stamped<Chunk>>;
  readonly drift: Map<number, Stamped<Chunk>>;
  readonly answers: Map<string, Stamped<AnswerRow>>;
  /** States by position. */
  readonly states: Map<string, Stamped<StateRow>>;
};
/** Floor of a trim. Without a position, the trim deletes no states. */
type TrimmedTo = RowCounts & Partial<StatePosition>;
const ROW_SORTS = ['history', 'drift', 'answers', 'states'] as const;
const CHUNK_SORTS = ['history', 'drift'] as const;

/** Name of a row table. */
export type RowSort = (typeof ROW_SORTS)[number];

type Line = { row: ListingRow | undefined; version: number };

/** Deliberate flaws in table writes. */
export type TableFlaws = {
  /** The last write wins instead of the highest version. */
  readonly isUnstamped?: boolean;
  /** A deletion removes the head instead of writing a tombstone. */
  readonly isMarkerless?: boolean;
};

/**
 * Instance and listing tables with Cassandra's rules: each write carries a version, the highest
 * version wins, and a deletion covers all versions up to its own.
 */
export class ActorTables {
  readonly #flaws: TableFlaws;
  readonly #partitions = new Map<string, Partition>();
  readonly #listings = new Map<string, Map<string, Line>>();

  constructor(flaws: TableFlaws = {}) {
    this.#flaws = flaws;
  }

  /** Writes rows with a version. */
  putRows(
    id: string,
    version: number,
    rows: Omit<InstanceCheckpoint, 'instanceId' | 'head'>,
  ): void {
    const partition = this.#partition(id);
    if (version <= partition.deletedVersion && !this.#flaws.isUnstamped) return;
    for (const sort of CHUNK_SORTS) {
      const isTrimmed = trimmedIn(partition, sort);
      for (const row of rows[sort]) {
        if (isTrimmed({ row, version }) && !this.#flaws.isUnstamped) continue;
        this.#put(partition[sort], row.last, { row, version });
      }
    }
    for (const row of rows.answers) this.#put(partition.answers, row.key, { row, version });
    const isTrimmed = stateTrimmedIn(partition);
    for (const row of rows.states ?? []) {
      if (isTrimmed({ row, version }) && !this.#flaws.isUnstamped) continue;
      this.#put(partition.states, `${row.generation}/${row.cycle}`, { row, version });
    }
  }

  /**
   * Writes a head. The highest stamp wins. The stamp is the version of the head; only planted flaws
   * pass another stamp.
   */
  putHead(id: string, head: InstanceHead, stamp = head.version): void {
    const partition = this.#partition(id);
    if (partition.headStamp > stamp && !this.#flaws.isUnstamped) return;
    partition.headStamp = stamp;
    const isRemoved = head.deletedAtMs !== undefined && this.#flaws.isMarkerless === true;
    partition.head = isRemoved ? undefined : head;
  }

  /** Deletes all rows up to a version. */
  deleteRows(id: string, version: number): void {
    const partition = this.#partition(id);
    partition.deletedVersion = Math.max(partition.deletedVersion, version);
    const { history, drift, answers, states } = partition;
    for (const rows of [history, drift, answers, states]) {
      for (const [key, stamped] of rows) if (stamped.version <= version) rows.delete(key as never);
    }
  }

  /** Deletes chunks up to a floor, and states before the floor, up to a version. */
  trimRows(id: string, version: number, floor: TrimmedTo): void {
    const partition = this.#partition(id);
    if (version <= partition.trimmedVersion) return;
    partition.trimmedVersion = version;
    partition.trimmed = floor;
    for (const sort of CHUNK_SORTS) {
      const isTrimmed = trimmedIn(partition, sort);
      const rows = partition[sort];
      for (const [last, stamped] of rows) if (isTrimmed(stamped)) rows.delete(last);
    }
    const isTrimmed = stateTrimmedIn(partition);
    for (const [key, stamped] of partition.states) {
      if (isTrimmed(stamped)) partition.states.delete(key);
    }
  }

  /** Chunks that span a floor, shortened to their rows above the floor. */
  chunksAbove(id: string, floor: RowCounts): { history: Chunk[]; drift: Chunk[] } {
    const partition = this.#partitions.get(id);
    const [history, drift] = [chunksFrom(partition?.history), chunksFrom(partition?.drift)];
    return {
      history: chunksAbove(OBSERVATIONS, id, history, floor.history),
      drift: chunksAbove(DRIFT_EVENTS, id, drift, floor.drift),
    };
  }

  /** Merges newer heads from other tables. Returns whether any head was newer. */
  mergeHeads(from: ActorTables, ids: readonly string[] = from.instances): boolean {
    let hasChanged = false;
    for (const id of ids) {
      const head = from.head(id);
      if (head === undefined || head.version <= (this.head(id)?.version ?? 0)) continue;
      this.putHead(id, head);
      hasChanged = true;
    }
    return hasChanged;
  }

  /**
   * Merges one row table of an instance, and the deletions and trims of the instance. Returns whether
   * anything changed.
   */
  mergeRows(from: ActorTables, id: string, sort: RowSort): boolean {
    const theirs = from.#partitions.get(id);
    if (theirs === undefined) return false;
    const partition = this.#partition(id);
    let hasChanged = theirs.deletedVersion > partition.deletedVersion;
    if (hasChanged) this.deleteRows(id, theirs.deletedVersion);
    if (theirs.trimmedVersion > partition.trimmedVersion) {
      this.trimRows(id, theirs.trimmedVersion, theirs.trimmed);
      hasChanged = true;
    }
    const isTrimmed = isTrimmedIn(partition, sort);
    const rows: Map<unknown, Stamped<unknown>> = partition[sort];
    for (const [key, stamped] of theirs[sort]) {
      const standing = rows.get(key)?.version ?? 0;
      if (stamped.version <= Math.max(standing, partition.deletedVersion)) continue;
      if (isTrimmed(stamped)) continue;
      rows.set(key, stamped);
      hasChanged = true;
    }
    return hasChanged;
  }

  /** Merges an account's listing. Returns whether any entry was newer. */
  mergeLines(from: ActorTables, account: string): boolean {
    let hasChanged = false;
    for (const [id, { row, version }] of from.#listings.get(account) ?? []) {
      if ((this.#listings.get(account)?.get(id)?.version ?? 0) >= version) continue;
      this.putLine(account, id, version, row);
      hasChanged = true;
    }
    return hasChanged;
  }

  /** Merges all heads, rows and listings. Returns whether any was newer. */
  mergeAll(from: ActorTables): boolean {
    const changes = [this.mergeHeads(from)];
    for (const id of from.instances) {
      for (const sort of ROW_SORTS) changes.push(this.mergeRows(from, id, sort));
    }
    for (const account of from.#listings.keys()) changes.push(this.mergeLines(from, account));
    return changes.includes(true);
  }

  /** Ids of all instances ever written. */
  get instances(): string[] {
    return [...this.#partitions.keys()];
  }

  /** Head of an instance; undefined if not stored. */
  head(id: string): InstanceHead | undefined {
    return this.#partitions.get(id)?.head;
  }

  /** Reads at most `count` history rows from chunks, in descending order from ordinal `newest`. */
  history(id: string, newest: number, count: number): HistoryRow[] {
    const chunks = chunksFrom(this.#partitions.get(id)?.history);
    return rowsOfChunks(OBSERVATIONS, id, chunks, newest, count);
  }

  /** Reads at most `count` drift rows from chunks, in descending order from ordinal `newest`. */
  drift(id: string, newest: number, count: number): DriftRow[] {
    const chunks = chunksFrom(this.#partitions.get(id)?.drift);
    return rowsOfChunks(DRIFT_EVENTS, id, chunks, newest, count);
  }

  /** States of an instance, ordered by position. */
  states(id: string): StateRow[] {
    const states = this.#partitions.get(id)?.states.values() ?? [];
    return [...states].map(({ row }) => row).sort(comparePositions);
  }

  /** Stored answer of an idempotency key. */
  answer(id: string, key: string): AnswerRow | undefined {
    return this.#partitions.get(id)?.answers.get(key)?.row;
  }

  /** All answers of an instance. */
  answersOf(id: string): readonly AnswerRow[] {
    return [...(this.#partitions.get(id)?.answers.values() ?? [])].map(({ row }) => row);
  }

  /** Number of an instance's chunks and answers in all tables. */
  rowCount(id: string): number {
    const partition = this.#partitions.get(id);
    if (partition === undefined) return 0;
    const { history, drift, answers, states } = partition;
    return history.size + drift.size + answers.size + states.size;
  }

  /** Writes a listing entry, or removes it if `row` is undefined. */
  putLine(account: string, id: string, version: number, row: ListingRow | undefined): void {
    const lines = this.#listings.get(account) ?? new Map<string, Line>();
    this.#listings.set(account, lines);
    const line = lines.get(id);
    if (line !== undefined && line.version >= version && !this.#flaws.isUnstamped) return;
    lines.set(id, { row, version });
  }

  /** Listing entries of an account. */
  lines(account: string): ListingRow[] {
    const lines = [...(this.#listings.get(account)?.values() ?? [])];
    return lines.flatMap(({ row }) => (row === undefined ? [] : [row]));
  }

  #put<Key, Row>(rows: Map<Key, Stamped<Row>>, key: Key, written: Stamped<Row>): void {
    const standing = rows.get(key);
    if (standing !== undefined && standing.version > written.version && !this.#flaws.isUnstamped) {
      return;
    }
    rows.set(key, written);
  }

  #partition(id: string): Partition {
    const known = this.#partitions.get(id);
    if (known !== undefined) return known;
    const fresh = {
      head: undefined,
      headStamp: 0,
      deletedVersion: 0,
      trimmed: NO_ROWS_TRIMMED,
      trimmedVersion: 0,
      history: new Map(),
      drift: new Map(),
      answers: new Map(),
      states: new Map(),
    };
    this.#partitions.set(id, fresh);
    return fresh;
  }
}

/** Returns a predicate: whether the partition's trim deletes a chunk. */
function trimmedIn(
  { trimmed, trimmedVersion }: Partition,
  sort: (typeof CHUNK_SORTS)[number],
): (chunk: Stamped<Chunk>) => boolean {
  const floor = trimmed[sort];
  return ({ row, version }) => row.last <= floor && version <= trimmedVersion;
}

/** Returns a predicate: whether the partition's trim deletes a state. */
function stateTrimmedIn({
  trimmed,
  trimmedVersion,
}: Partition): (state: Stamped<StateRow>) => boolean {
  const { generation = 0, cycle = 0 } = trimmed;
  return ({ row, version }) =>
    comparePositions(row, { generation, cycle }) < 0 && version <= trimmedVersion;
}

/** Returns a predicate: whether the partition's trim deletes a row of a table. */
function isTrimmedIn(partition: Partition, sort: RowSort): (stamped: Stamped<unknown>) => boolean {
  if (sort === 'answers') return () => false;
  const isTrimmed = sort === 'states' ? stateTrimmedIn(partition) : trimmedIn(partition, sort);
  return isTrimmed as (stamped: Stamped<unknown>) => boolean;
}

/** Chunks by descending last ordinal, as in the Cassandra table. */
function chunksFrom(chunks: ReadonlyMap<number, Stamped<Chunk>> = new Map()): Chunk[] {
  return [...chunks.values()].map(({ row }) => row).sort((one, other) => other.last - one.last);
}
