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

type Stamped<Row> = { readonly row: Row; readonly version: number };
type Partition = {
  head: InstanceHead | undefined;
  headStamp: number;
  /** Rows written at this version or below are deleted. */
  deletedVersion: number;
  /** Chunks up to these ordinals that were written at this version or below are deleted. */
  trimmed: RowCounts;
  trimmedVersion: number;
  /** By their last ordinals. */
  readonly history: Map<number, Stamped<Chunk>>;
  readonly drift: Map<number, Stamped<Chunk>>;
  readonly answers: Map<string, Stamped<AnswerRow>>;
};
/** The tables of rows. */
const ROW_SORTS = ['history', 'drift', 'answers'] as const;
const CHUNK_SORTS = ['history', 'drift'] as const;

/** One of them. */
export type RowSort = (typeof ROW_SORTS)[number];

type Line = { row: ListingRow | undefined; version: number };

/** Ways in which the tables can be written wrongly. */
export type TableFlaws = {
  /** Whatever arrives last stands, not the highest version. */
  readonly isUnstamped?: boolean;
  /** A deletion takes the head too, instead of leaving the marker. */
  readonly isMarkerless?: boolean;
};

/**
 * The tables of instances and listings as Cassandra keeps them: every cell with the version that
 * wrote it, the highest wins, and a deletion covers what was written at or below it.
 */
export class ActorTables {
  readonly #flaws: TableFlaws;
  readonly #partitions = new Map<string, Partition>();
  readonly #listings = new Map<string, Map<string, Line>>();

  constructor(flaws: TableFlaws = {}) {
    this.#flaws = flaws;
  }

  /** Writes rows at a version. */
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
  }

  /** Writes a head, which brings its version along as its stamp. */
  putHead(id: string, head: InstanceHead, stamp = head.version): void {
    const partition = this.#partition(id);
    if (partition.headStamp > stamp && !this.#flaws.isUnstamped) return;
    partition.headStamp = stamp;
    const isRemoved = head.deletedAtMs !== undefined && this.#flaws.isMarkerless === true;
    partition.head = isRemoved ? undefined : head;
  }

  /** Deletes all rows written at a version or below. */
  deleteRows(id: string, version: number): void {
    const partition = this.#partition(id);
    partition.deletedVersion = Math.max(partition.deletedVersion, version);
    for (const rows of [partition.history, partition.drift, partition.answers]) {
      for (const [key, stamped] of rows) if (stamped.version <= version) rows.delete(key as never);
    }
  }

  /** Deletes the chunks up to a floor that were written at a version or below. */
  trimRows(id: string, version: number, floor: RowCounts): void {
    const partition = this.#partition(id);
    if (version <= partition.trimmedVersion) return;
    partition.trimmedVersion = version;
    partition.trimmed = floor;
    for (const sort of CHUNK_SORTS) {
      const isTrimmed = trimmedIn(partition, sort);
      const rows = partition[sort];
      for (const [last, stamped] of rows) if (isTrimmed(stamped)) rows.delete(last);
    }
  }

  /** What of chunks on both sides of a floor lies above it. */
  chunksAbove(id: string, floor: RowCounts): { history: Chunk[]; drift: Chunk[] } {
    const partition = this.#partitions.get(id);
    const [history, drift] = [chunksFrom(partition?.history), chunksFrom(partition?.drift)];
    return {
      history: chunksAbove(OBSERVATIONS, id, history, floor.history),
      drift: chunksAbove(DRIFT_EVENTS, id, drift, floor.drift),
    };
  }

  /** Takes heads from other tables where they are newer; whether any were. */
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

  /** Takes an instance's rows of one sort, and what deletes them; whether anything was newer. */
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
    const isTrimmed = sort === 'answers' ? () => false : trimmedIn(partition, sort);
    const rows: Map<unknown, Stamped<unknown>> = partition[sort];
    for (const [key, stamped] of theirs[sort]) {
      const standing = rows.get(key)?.version ?? 0;
      if (stamped.version <= Math.max(standing, partition.deletedVersion)) continue;
      if (isTrimmed(stamped as Stamped<Chunk>)) continue;
      rows.set(key, stamped);
      hasChanged = true;
    }
    return hasChanged;
  }

  /** Takes the lines of an account; whether any were newer. */
  mergeLines(from: ActorTables, account: string): boolean {
    let hasChanged = false;
    for (const [id, { row, version }] of from.#listings.get(account) ?? []) {
      if ((this.#listings.get(account)?.get(id)?.version ?? 0) >= version) continue;
      this.putLine(account, id, version, row);
      hasChanged = true;
    }
    return hasChanged;
  }

  /** Takes everything; whether anything was newer. */
  mergeAll(from: ActorTables): boolean {
    const changes = [this.mergeHeads(from)];
    for (const id of from.instances) {
      for (const sort of ROW_SORTS) changes.push(this.mergeRows(from, id, sort));
    }
    for (const account of from.#listings.keys()) changes.push(this.mergeLines(from, account));
    return changes.includes(true);
  }

  /** Every instance of which anything was ever written. */
  get instances(): string[] {
    return [...this.#partitions.keys()];
  }

  /** The head, if there is one. */
  head(id: string): InstanceHead | undefined {
    return this.#partitions.get(id)?.head;
  }

  /** History rows of chunks with ordinals from `newest` downwards, at most `count`. */
  history(id: string, newest: number, count: number): HistoryRow[] {
    const chunks = chunksFrom(this.#partitions.get(id)?.history);
    return rowsOfChunks(OBSERVATIONS, id, chunks, newest, count);
  }

  /** Drift rows of chunks with ordinals from `newest` downwards, at most `count`. */
  drift(id: string, newest: number, count: number): DriftRow[] {
    const chunks = chunksFrom(this.#partitions.get(id)?.drift);
    return rowsOfChunks(DRIFT_EVENTS, id, chunks, newest, count);
  }

  /** The stored answer of a key. */
  answer(id: string, key: string): AnswerRow | undefined {
    return this.#partitions.get(id)?.answers.get(key)?.row;
  }

  /** How many rows of any sort an instance has. */
  rowCount(id: string): number {
    const partition = this.#partitions.get(id);
    if (partition === undefined) return 0;
    return partition.history.size + partition.drift.size + partition.answers.size;
  }

  /** Writes a line of a listing, or removes it when `row` is undefined. */
  putLine(account: string, id: string, version: number, row: ListingRow | undefined): void {
    const lines = this.#listings.get(account) ?? new Map<string, Line>();
    this.#listings.set(account, lines);
    const line = lines.get(id);
    if (line !== undefined && line.version >= version && !this.#flaws.isUnstamped) return;
    lines.set(id, { row, version });
  }

  /** All lines of an account. */
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
    };
    this.#partitions.set(id, fresh);
    return fresh;
  }
}

/** Whether a chunk of a table is deleted by what was trimmed of its partition. */
function trimmedIn(
  { trimmed, trimmedVersion }: Partition,
  sort: (typeof CHUNK_SORTS)[number],
): (chunk: Stamped<Chunk>) => boolean {
  const floor = trimmed[sort];
  return ({ row, version }) => row.last <= floor && version <= trimmedVersion;
}

/** Chunks as a table has them in order: the highest last ordinal first. */
function chunksFrom(chunks: ReadonlyMap<number, Stamped<Chunk>> = new Map()): Chunk[] {
  return [...chunks.values()].map(({ row }) => row).sort((one, other) => other.last - one.last);
}
