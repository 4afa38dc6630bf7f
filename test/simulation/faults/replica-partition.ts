/** Sort key of a partition's rows. */
export type RowKey = number | string;

/** A row with its write timestamp. */
export type Cell<Key extends RowKey, Row> = {
  readonly key: Key;
  readonly timestamp: number;
  readonly row: Row;
};

/** Keys in [`from`, `below`). A missing bound does not limit the range. */
export type KeyRange<Key extends RowKey> = {
  readonly from?: Key | undefined;
  readonly below?: Key | undefined;
};

/** Deletes the range's rows up to a timestamp, including rows that arrive after the deletion. */
export type Deletion<Key extends RowKey> = KeyRange<Key> & { readonly timestamp: number };

/** Rows and deletions of one partition. A replica applies both atomically. */
export type Mutation<Key extends RowKey, Row> = {
  readonly cells: readonly Cell<Key, Row>[];
  readonly deletions: readonly Deletion<Key>[];
};

/** Query for a range, or for the `newest` rows. */
export type Query<Key extends RowKey, Row = never> = KeyRange<Key> & {
  readonly newest?: number;
  /** Projects a row to the queried columns. Read repair copies only these columns. */
  readonly columns?: (row: Row) => Row;
};

/** Tie-break between two rows with equal timestamps. Returns `one` itself if `one` wins. */
export type Resolve<Row> = (one: Row, other: Row) => Row;

/**
 * One partition on one replica, with Cassandra's rules: the highest timestamp wins, and a deletion
 * wins over a row with an equal timestamp. The order of mutations does not matter.
 */
export class ReplicaPartition<Key extends RowKey, Row> {
  readonly #resolve: Resolve<Row>;
  readonly #cells = new Map<Key, Cell<Key, Row>>();
  /** Sorted keys of all cells. */
  #keys: Key[] = [];
  #deletions: Deletion<Key>[] = [];

  constructor(resolve: Resolve<Row>) {
    this.#resolve = resolve;
  }

  /** Applies a mutation. */
  apply({ cells, deletions }: Mutation<Key, Row>): void {
    for (const deletion of deletions) this.#delete(deletion);
    for (const cell of cells) this.#put(cell);
  }

  /** Row of a key; undefined if not stored. */
  row(key: Key): Row | undefined {
    return this.#cells.get(key)?.row;
  }

  /** Rows and deletions in a query's range, and the range that the result covers completely. */
  read(query: Query<Key, Row>): Mutation<Key, Row> & { readonly range: KeyRange<Key> } {
    const keys = this.#keysOf(query);
    const [first] = keys;
    const isCut = query.newest !== undefined && keys.length === query.newest;
    const range = isCut ? { from: first } : { from: query.from, below: query.below };
    const { cells, deletions } = this.#partOf(keys, range);
    const { columns = (row: Row) => row } = query;
    return { cells: cells.map((cell) => ({ ...cell, row: columns(cell.row) })), deletions, range };
  }

  /** The part of a mutation that this replica lacks. */
  lacking({ cells, deletions }: Mutation<Key, Row>): Mutation<Key, Row> {
    return {
      cells: cells.filter((cell) => !this.#isDeleted(cell) && this.#standing(cell) !== undefined),
      deletions: deletions.filter((deletion) => !this.#deletions.some(covers(deletion))),
    };
  }

  #partOf(keys: readonly Key[], range: KeyRange<Key>): Mutation<Key, Row> {
    const cells = keys.flatMap((key) => this.#cells.get(key) ?? []);
    const deletions = this.#deletions.flatMap((deletion) => clipped(deletion, range) ?? []);
    return { cells, deletions };
  }

  #keysOf({ from, below, newest }: Query<Key, Row>): Key[] {
    if (newest !== undefined) return this.#keys.slice(-newest);
    const first = from === undefined ? 0 : this.#placeOf(from);
    return this.#keys.slice(first, below === undefined ? undefined : this.#placeOf(below));
  }

  #put(cell: Cell<Key, Row>): void {
    if (this.#isDeleted(cell)) return;
    const standing = this.#standing(cell);
    if (standing === undefined) return;
    if (!this.#cells.has(cell.key)) this.#keys.splice(this.#placeOf(cell.key), 0, cell.key);
    this.#cells.set(cell.key, standing);
  }

  /** Cell after a write; undefined if the write changes nothing. */
  #standing(cell: Cell<Key, Row>): Cell<Key, Row> | undefined {
    const before = this.#cells.get(cell.key);
    if (before === undefined || before.timestamp < cell.timestamp) return cell;
    if (before.timestamp > cell.timestamp) return undefined;
    const row = this.#resolve(before.row, cell.row);
    return row === before.row ? undefined : { ...cell, row };
  }

  #delete(deletion: Deletion<Key>): void {
    if (this.#deletions.some(covers(deletion))) return;
    const isNew = (other: Deletion<Key>): boolean => !covers(other)(deletion);
    this.#deletions = [...this.#deletions.filter(isNew), deletion];
    const gone = this.#keysOf(deletion).filter((key) => {
      return (this.#cells.get(key)?.timestamp ?? 0) <= deletion.timestamp;
    });
    if (gone.length === 0) return;
    for (const key of gone) this.#cells.delete(key);
    this.#keys = this.#keys.filter((key) => this.#cells.has(key));
  }

  #isDeleted({ key, timestamp }: Cell<Key, Row>): boolean {
    return this.#deletions.some(
      ({ from, below, timestamp: deletedAt }) =>
        timestamp <= deletedAt &&
        (from === undefined || key >= from) &&
        (below === undefined || key < below),
    );
  }

  /** Index of the first key not below `key`. */
  #placeOf(key: Key): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const found = this.#keys[middle];
      if (found !== undefined && found < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Merges the replicas' answers to one query, within the range that all answers cover. */
export function merged<Key extends RowKey, Row>(
  parts: readonly ReturnType<ReplicaPartition<Key, Row>['read']>[],
  { newest, ...range }: Query<Key, Row>,
  resolve: Resolve<Row>,
): Mutation<Key, Row> {
  const all = new ReplicaPartition<Key, Row>(resolve);
  for (const part of parts) all.apply(part);
  const from = highest(parts.map((part) => part.range.from));
  const { cells, deletions } = all.read({ ...range, from });
  return { cells: newest === undefined ? cells : cells.slice(-newest), deletions };
}

/** Whether a deletion includes `inner`. */
function covers<Key extends RowKey>(inner: Deletion<Key>): (outer: Deletion<Key>) => boolean {
  return ({ from, below, timestamp }) =>
    timestamp >= inner.timestamp &&
    (from === undefined || (inner.from !== undefined && inner.from >= from)) &&
    (below === undefined || (inner.below !== undefined && inner.below <= below));
}

/** The part of a deletion within a range; undefined if empty. */
function clipped<Key extends RowKey>(
  deletion: Deletion<Key>,
  range: KeyRange<Key>,
): Deletion<Key> | undefined {
  const from = highest([deletion.from, range.from]);
  const below = lowest([deletion.below, range.below]);
  const isEmpty = from !== undefined && below !== undefined && from >= below;
  return isEmpty ? undefined : { from, below, timestamp: deletion.timestamp };
}

function highest<Key extends RowKey>(keys: readonly (Key | undefined)[]): Key | undefined {
  return keys.reduce((a, b) => (a === undefined || (b !== undefined && b > a) ? b : a), undefined);
}

function lowest<Key extends RowKey>(keys: readonly (Key | undefined)[]): Key | undefined {
  return keys.reduce((a, b) => (a === undefined || (b !== undefined && b < a) ? b : a), undefined);
}
