import { crc32 } from 'node:zlib';
import { FirstItems } from '#engine/directory/first-items';
import { type IndexedRow, NO_SLOT } from '#engine/directory/fleet-columns';
import type { FleetIndex } from '#engine/directory/fleet-index';
import type { Matches } from '#engine/directory/fleet-matches';
import type { FoundInstance, ListedPage } from '#engine/directory/listing-page';
import { inSlices, RenameLog, SearchSlice, searchFor } from '#engine/directory/names';
import { Reservations } from '#engine/directory/reservations';
import { SortedBlocks } from '#engine/directory/sorted-blocks';
import { compareCodePoints, hasSurrogates } from '#engine/json';
import { type InstancesCursor, type ListingPage, unusableCursor } from '#grpc/list-cursor';
import { type ListedInstance, listedBytes } from '#storage/ports/listings';

/**
 * State for a paged read by cursor. Rows keep their present order. Rows that were renamed since the
 * first page keep their old positions.
 */
type Walk = {
  readonly cursor: InstancesCursor;
  readonly last: Row;
  readonly renames: number;
  /** Old names by instance id, for rows renamed since the first page. */
  readonly names: ReadonlyMap<string, string>;
};

/** Number of rows that are made at once in a load. Takes less than a millisecond. */
const ROWS_PER_LOOK = 1_024;

const NO_NAMES: ReadonlyMap<string, string> = new Map();

/** A row with its slot in the index. */
type Row = IndexedRow;

/** A row, and the same row with its name at the first page, which determines the position. */
type PlacedRow = { readonly row: Row; readonly at: Row };

/** Version of the names in a listing. A cursor contains this version. */
type NamesAt = { readonly epoch: number; readonly count: number; readonly checksum: number };

/** An account's instances, sorted by creation and by name. */
export class AccountListing {
  #total = 0;
  // A sorted sequence by id: a map would need four times the memory.
  readonly #byId = new SortedBlocks<Row>(byId);
  readonly #byCreation = new SortedBlocks<Row>(byCreation);
  readonly #byName = new SortedBlocks<Row>((a, b) => this.#compareNames(a, b));
  /**
   * Whether any name has ever contained a surrogate. Until then, JavaScript's string order equals
   * code point order.
   */
  #hasSurrogates = false;
  readonly #places = new Reservations();
  #bytes = 0;
  /** Sum over all row checksums (id and version). Equal sums identify equal listings. */
  #checksum = 0;
  readonly #renames: RenameLog;
  #index: FleetIndex | undefined;

  /** `epoch` must differ for every listing load. */
  constructor(epoch = 0) {
    this.#renames = new RenameLog(epoch);
  }

  /** Loads stored rows into a new listing. Yields after every few milliseconds of work. */
  *load(stored: readonly ListedInstance[]): Generator<undefined, void> {
    const rows: Row[] = [];
    for (const listed of stored) {
      const row = rowOf(listed, NO_SLOT);
      this.#hasSurrogates ||= hasSurrogates(row.name);
      this.#count(row, 1);
      rows.push(row);
      if (rows.length % ROWS_PER_LOOK === 0) yield;
    }
    for (const sorted of [this.#byId, this.#byCreation, this.#byName]) yield* sorted.fill(rows);
  }

  /** Instance count. */
  get total(): number {
    return this.#total;
  }

  /** Approximate memory use in bytes. */
  get bytes(): number {
    return this.#bytes + this.#renames.bytes + (this.#index?.bytes ?? 0);
  }

  /** Whether the listing has neither rows nor reservations nor an index. */
  get isBlank(): boolean {
    return this.#total + this.#places.size === 0 && this.#index === undefined;
  }

  /** Reserves a place for an instance before its create. Throws like `Reservations`. */
  reserve(instanceId: string, instancesMax: number, nowMs: number): void {
    if (this.#find(instanceId) !== undefined) return;
    this.#places.reserve(instanceId, this.total, instancesMax, nowMs);
  }

  /** Whether reservations exist for creates in progress. */
  isKeepingPlaces(nowMs: number): boolean {
    this.#places.expire(nowMs);
    return this.#places.size > 0;
  }

  /** Whether the instance has a row or a reservation. */
  isExpecting(instanceId: string): boolean {
    return this.#places.has(instanceId) || this.#find(instanceId) !== undefined;
  }

  /**
   * Adds or replaces an instance's row, unless the listing has the same or a higher version.
   * `tagsJson`: tags of the instance at this version, if known.
   */
  put(listed: ListedInstance, tagsJson: string | undefined = undefined, nowMs = 0): void {
    const known = this.#find(listed.instanceId);
    if (known !== undefined && listed.version <= known.version) return;
    this.#places.end(listed.instanceId);
    const row = rowOf(listed, known?.slot ?? NO_SLOT);
    if (known !== undefined) {
      this.#drop(known);
      if (known.name !== row.name) this.#renames.add(known.instanceId, known.name);
    }
    this.#hasSurrogates ||= hasSurrogates(row.name);
    this.#count(row, 1);
    this.#byId.insert(row);
    this.#byCreation.insert(row);
    this.#byName.insert(row);
    this.#index?.put(row, tagsJson, nowMs);
  }

  /** Removes an instance's row and reservation after its deletion at `version`. */
  remove(instanceId: string, version: number): void {
    this.#places.end(instanceId);
    const known = this.#find(instanceId);
    if (known === undefined || known.version >= version) return;
    this.#drop(known);
    this.#index?.remove(known);
  }

  /** Index of the instances; undefined until `startIndex`. */
  get index(): FleetIndex | undefined {
    return this.#index;
  }

  /** Starts an empty index, which replaces the present index. */
  startIndex(index: FleetIndex | undefined): void {
    this.#index = index;
  }

  /** The instance's row; undefined if there is none. */
  rowOf(instanceId: string): IndexedRow | undefined {
    return this.#find(instanceId);
  }

  /** At most `count` rows after an id, in the order of the ids. */
  rowsAfter(instanceId: string, count: number): IndexedRow[] {
    return this.#byId.behind(probeOf(instanceId), 'asc').take(count).toArray();
  }

  /** Rows whose ids begin with a text, in the order of the ids. */
  rowsFrom(start: string): IndexedRow[] {
    const rows: IndexedRow[] = [];
    for (const row of this.#byId.behind(probeOf(start), 'asc')) {
      if (!row.instanceId.startsWith(start)) break;
      rows.push(row);
    }
    return rows;
  }

  /** Page in the requested order, without `search`. Throws `invalid_parameter` like `search`. */
  page(page: ListingPage): ListedPage {
    const { total } = this;
    if (page.cursor === undefined) {
      const rows = this.#rowsAt(page);
      const next = this.#next(page, rows, page.offset + rows.length < total, this.#namesNow());
      return { total, rows: rows.map(shown), next };
    }
    const walk = this.#walkOf(page.cursor);
    const rows: Row[] = [];
    for (const row of this.#sorted(page).behind(walk.last, page.order)) {
      if (rows.length > page.limit) break;
      if (!walk.names.has(row.instanceId)) rows.push(row);
    }
    const renamed = this.#renamedIn(page, walk, () => true);
    return { total, ...this.#walked(page, walk, rows, renamed, this.#namesNow()) };
  }

  #rowsAt(page: ListingPage): Row[] {
    const { limit, offset, order } = page;
    const rows = this.#sorted(page);
    if (order === 'asc') return rows.slice(offset, limit);
    const end = this.total - offset;
    const count = Math.min(limit, end);
    return count <= 0 ? [] : rows.slice(end - count, count).reverse();
  }

  #sorted({ sort }: Pick<ListingPage, 'sort'>): SortedBlocks<Row> {
    return sort === 'name' ? this.#byName : this.#byCreation;
  }

  /** Restores a cursor's state. Throws `invalid_parameter` if old names are no longer stored. */
  #walkOf(cursor: InstancesCursor): Walk {
    const { createdAtMs, instanceId, byName } = cursor;
    const last = { ...probeOf(instanceId), createdAtMs, name: byName?.name ?? '' };
    if (byName === undefined) return { cursor, last, renames: 0, names: NO_NAMES };
    this.#hasSurrogates ||= hasSurrogates(byName.name);
    const { epoch, count } = this.#renames;
    if (byName.epoch !== epoch && byName.checksum === this.#checksum) {
      return { cursor, last, renames: count, names: NO_NAMES };
    }
    const { renames } = byName;
    const names = byName.epoch === epoch ? this.#renames.namesAt(renames) : undefined;
    if (names === undefined) {
      throw unusableCursor('the names have changed since the walk began; begin again');
    }
    return { cursor, last, renames, names };
  }

  /**
   * Merges `rows`, at their present positions, with `renamed`, at their old positions. Cuts the
   * page to `limit`.
   */
  #walked(
    page: ListingPage,
    walk: Walk,
    rows: readonly Row[],
    renamed: readonly PlacedRow[],
    names: NamesAt,
    show: (row: Row) => FoundInstance = shown,
  ): Omit<ListedPage, 'total'> {
    const placed = [...rows.map((row) => ({ row, at: row })), ...renamed];
    placed.sort((a, b) => this.#compareIn(page, a.at, b.at));
    const cut = placed.slice(0, page.limit);
    const next = this.#next(
      page,
      cut.map(({ at }) => at),
      placed.length > page.limit,
      names,
      walk,
    );
    return { rows: cut.map(({ row }) => show(row)), next };
  }

  /** Rows that were renamed since the first page and follow the cursor, at their old positions. */
  #renamedIn(
    page: ListingPage,
    { names, last }: Walk,
    isFound: (row: Row) => boolean,
  ): PlacedRow[] {
    return [...names].flatMap(([instanceId, name]) => {
      const row = this.#find(instanceId);
      if (row === undefined || !isFound(row)) return [];
      const at = { ...row, name };
      return this.#compareIn(page, at, last) > 0 ? [{ row, at }] : [];
    });
  }

  #namesNow(): NamesAt {
    const { epoch, count } = this.#renames;
    return { epoch, count, checksum: this.#checksum };
  }

  #compareIn({ sort, order }: ListingPage, a: ListedInstance, b: ListedInstance): number {
    const ascending = sort === 'name' ? this.#compareNames(a, b) : byCreation(a, b);
    return order === 'asc' ? ascending : -ascending;
  }

  /**
   * Returns the cursor after the last row. The rows must have the names that they had when the
   * first page was read.
   */
  #next(
    { sort, order, search, filter, offset, cursor }: ListingPage,
    rows: readonly Row[],
    hasMore: boolean,
    { epoch, count, checksum: checksumNow }: NamesAt,
    walk?: Walk,
  ): InstancesCursor | undefined {
    const last = rows.at(-1);
    if (!hasMore || last === undefined) return undefined;
    const { createdAtMs, instanceId, name } = last;
    const renames = walk?.renames ?? count;
    const checksum = renames === count ? checksumNow : undefined;
    const byName = sort === 'name' ? { name, epoch, renames, checksum } : undefined;
    const seen = (cursor?.seen ?? offset) + rows.length;
    return { sort, order, search, filter, seen, createdAtMs, instanceId, byName };
  }

  /**
   * Searches the rows that exist at the first step; later changes stay invisible. Yields after each
   * time slice so that other calls can run, and returns the page. `text` undefined: all names.
   * `matches`: rows that pass the filter of the page. `nowMs` is a monotonic clock.
   */
  *search(
    text: string | undefined,
    page: ListingPage,
    nowMs: () => number,
    matches?: Matches,
  ): Generator<undefined, ListedPage> {
    const { offset, limit, order, cursor } = page;
    const walk = cursor && this.#walkOf(cursor);
    const isFound = foundBy(text, matches);
    const names = this.#namesNow();
    const renamed = walk === undefined ? [] : this.#renamedIn(page, walk, isFound);
    const rows: Row[] = [];
    let found = 0;
    if (matches?.rows !== undefined) {
      const passing = matches.rows.filter(isFound);
      found = passing.length;
      rows.push(...this.#firstOf(passing, page, walk));
    } else {
      // Without a text, the number of matches is known, so other rows are not read.
      const isCounted = text !== undefined;
      const blocks = this.#sorted(page).blocks(order, isCounted ? undefined : walk?.last);
      const isWanted = this.#wantedOf(page, walk, rows);
      const rowsMax = isCounted ? Number.POSITIVE_INFINITY : limit + Number(walk !== undefined);
      yield* inSlices(blocks, nowMs, (row) => {
        if (!isFound(row)) return true;
        if (isWanted(row, found)) rows.push(row);
        found += 1;
        return rows.length < rowsMax;
      });
      if (!isCounted) found = matches?.total ?? found;
    }
    const show = (row: Row) => ({ ...shown(row), ...matches?.valuesOf(row) });
    if (walk !== undefined) {
      return { total: found, ...this.#walked(page, walk, rows, renamed, names, show) };
    }
    const next = this.#next(page, rows, offset + rows.length < found, names);
    return { total: found, rows: rows.map(show), next };
  }

  /** Rows of a page and, behind a cursor, one further row, of some rows in a scattered order. */
  #firstOf(some: readonly Row[], page: ListingPage, walk: Walk | undefined): readonly Row[] {
    const { offset, limit } = page;
    const count = offset + limit + Number(walk !== undefined);
    const first = new FirstItems<Row>(count, (a, b) => this.#compareIn(page, a, b));
    for (const row of some) {
      if (walk === undefined || this.#isBehind(page, row, walk)) first.add(row);
    }
    return first.sorted.slice(offset);
  }

  /**
   * Page of the rows in the order of their newest changes; ties by id. Works like `search`. A row
   * that changes between two pages can be missing from both.
   */
  *byChange(
    text: string | undefined,
    page: ListingPage,
    nowMs: () => number,
    matches: Matches,
  ): Generator<undefined, ListedPage> {
    const { limit, offset, order, cursor } = page;
    const isNamed = text === undefined ? undefined : searchFor(text);
    const sign = order === 'asc' ? 1 : -1;
    const compare = (a: ChangedRow, b: ChangedRow) =>
      sign * (a.changedAtMs - b.changedAtMs || byId(a.row, b.row));
    const behind = cursor && {
      row: probeOf(cursor.instanceId),
      changedAtMs: cursor.changedAtMs ?? cursor.createdAtMs,
    };
    const first = new FirstItems<ChangedRow>(offset + limit + 1, compare);
    let total = 0;
    const take = (row: Row, changedAtMs: number) => {
      if (isNamed?.(row) === false) return;
      total += 1;
      // Nearly all rows end here. Reading a row takes longer than reading the columns.
      if (first.last !== undefined && sign * (changedAtMs - first.last.changedAtMs) > 0) return;
      if (behind !== undefined && sign * (changedAtMs - behind.changedAtMs) < 0) return;
      const changed = { row, changedAtMs };
      if (behind === undefined || compare(changed, behind) > 0) first.add(changed);
    };
    const slice = new SearchSlice(nowMs);
    for (const _ of matches.changes(take)) {
      // Without names, all takes some milliseconds. A further slice would copy the columns.
      if (isNamed === undefined || !slice.isOver()) continue;
      yield;
      slice.begin();
    }
    return { total, ...this.#changedPage(page, first.sorted.slice(offset), matches) };
  }

  #changedPage(
    { limit, offset, cursor, order, search, filter, sort }: ListingPage,
    placed: readonly ChangedRow[],
    { valuesOf }: Matches,
  ): Omit<ListedPage, 'total'> {
    const cut = placed.slice(0, limit);
    const rows = cut.map(({ row, changedAtMs }) => {
      return { ...shown(row), ...valuesOf(row), changedAtMs };
    });
    const last = placed.length > limit ? cut.at(-1) : undefined;
    if (last === undefined) return { rows };
    const { createdAtMs, instanceId } = last.row;
    const seen = (cursor?.seen ?? offset) + rows.length;
    const place = { seen, createdAtMs, instanceId, changedAtMs: last.changedAtMs };
    return { rows, next: { sort, order, search, filter, byName: undefined, ...place } };
  }

  /**
   * Returns a predicate: whether a matching row belongs to the page after `rows`. The second
   * argument is the row's position among all matching rows.
   */
  #wantedOf(page: ListingPage, walk: Walk | undefined, rows: readonly Row[]) {
    const { limit, offset } = page;
    return walk === undefined
      ? (_: Row, place: number) => place >= offset && rows.length < limit
      : (row: Row) => rows.length <= limit && this.#isBehind(page, row, walk);
  }

  /** Whether a row without a rename follows the cursor. */
  #isBehind(page: ListingPage, row: Row, { last, names }: Walk): boolean {
    return !names.has(row.instanceId) && this.#compareIn(page, row, last) > 0;
  }

  /** Compares names by code point. Uses JavaScript's faster comparison if both orders are equal. */
  #compareNames(a: ListedInstance, b: ListedInstance): number {
    if (this.#hasSurrogates) return compareCodePoints(a.name, b.name) || byCreation(a, b);
    if (a.name === b.name) return byCreation(a, b);
    return a.name < b.name ? -1 : 1;
  }

  #find(instanceId: string): Row | undefined {
    return this.#byId.find(probeOf(instanceId));
  }

  #count(row: ListedInstance, sign: 1 | -1): void {
    this.#total += sign;
    this.#bytes += sign * listedBytes(row);
    this.#checksum = (this.#checksum + sign * checksumOf(row)) >>> 0;
  }

  #drop(row: Row): void {
    this.#count(row, -1);
    this.#byId.remove(row);
    this.#byCreation.remove(row);
    this.#byName.remove(row);
  }
}

/** Checksum of a row's id and version, mixed so that sums rarely collide. */
function checksumOf({ instanceId, version }: ListedInstance): number {
  let mixed = crc32(instanceId) ^ Math.imul(version, 0x9e37_79b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** A row and the time of its newest change. */
type ChangedRow = { readonly row: Row; readonly changedAtMs: number };

/** Row of an instance. A spread would take more memory. */
function rowOf({ instanceId, version, name, createdAtMs }: ListedInstance, slot: number): Row {
  return { instanceId, version, name, createdAtMs, slot };
}

/** Row without its slot. */
function shown({ slot: _, ...row }: Row): ListedInstance {
  return row;
}

function foundBy(text: string | undefined, matches: Matches | undefined): (row: Row) => boolean {
  const isNamed = text === undefined ? undefined : searchFor(text);
  return (row) => (matches?.has(row) ?? true) && (isNamed?.(row) ?? true);
}

/** Row with an id, for comparisons by id. */
function probeOf(instanceId: string): Row {
  return { instanceId, version: 0, name: '', createdAtMs: 0, slot: NO_SLOT };
}

/** Compares ids by code point. Ids are ASCII, so JavaScript's faster comparison is correct. */
function byId({ instanceId: a }: ListedInstance, { instanceId: b }: ListedInstance): number {
  return a < b ? -1 : Number(a > b);
}

function byCreation(a: ListedInstance, b: ListedInstance): number {
  return a.createdAtMs - b.createdAtMs || byId(a, b);
}
