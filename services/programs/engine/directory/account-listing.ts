import { crc32 } from 'node:zlib';
import { RenameLog, SortedBlocks } from '#engine/directory/names';
import { compareCodePoints, hasSurrogates } from '#engine/json';
import { faultFor } from '#errors/fault';
import { type InstancesCursor, unusableCursor } from '#grpc/list-cursor';
import { type ListedInstance, listedBytes } from '#storage/ports/listings';

/** Maximum number of concurrent creates per account. Source: decision 154 (instance limit). */
const PLACES_MAX = 1_024;

/** Search time slice before a yield, in milliseconds. Source: decision 254. */
const SEARCH_SLICE_MS = 2;

/**
 * Number of rows searched between two clock reads. Searching this many 100-character names takes
 * half a slice in any alphabet.
 */
const SEARCHED_ROWS_PER_LOOK = 64;

/** Reservation lifetime for a create, in milliseconds: twice the longest call. */
const PLACE_AGE_MS = 20_000;

/** Requested listing page. Source: interface 4.1. */
export type ListingPage = {
  readonly limit: number;
  readonly offset: number;
  readonly sort: 'created_at' | 'name';
  readonly order: 'asc' | 'desc';
  /** Name part in any case, or a whole id; undefined: all instances (decision 254). */
  readonly search?: string | undefined;
  /**
   * Cursor to continue from; undefined: start at `offset`. Sort, order and search must equal the
   * cursor's.
   */
  readonly cursor?: InstancesCursor | undefined;
};

/** A page's rows in order, and the total number of matching rows. */
export type ListedPage = {
  readonly total: number;
  readonly rows: readonly ListedInstance[];
  /** Next page's cursor; undefined at the end. */
  readonly next?: InstancesCursor | undefined;
};

/**
 * State for a paged read by cursor. Rows keep their present order. Rows that were renamed since the
 * first page keep their old positions.
 */
type Walk = {
  readonly cursor: InstancesCursor;
  readonly last: ListedInstance;
  readonly renames: number;
  /** Old names by instance id, for rows renamed since the first page. */
  readonly names: ReadonlyMap<string, string>;
};

const NO_NAMES: ReadonlyMap<string, string> = new Map();

/** A row, and the same row with its name at the first page, which determines the position. */
type PlacedRow = { readonly row: ListedInstance; readonly at: ListedInstance };

/** Version of the names in a listing. A cursor contains this version. */
type NamesAt = { readonly epoch: number; readonly count: number; readonly checksum: number };

/** An account's instances, sorted by creation and by name. */
export class AccountListing {
  #total = 0;
  // A sorted sequence by id: a map would need four times the memory.
  readonly #byId = new SortedBlocks<ListedInstance>(byId);
  readonly #byCreation = new SortedBlocks<ListedInstance>(byCreation);
  readonly #byName = new SortedBlocks<ListedInstance>((a, b) => this.#compareNames(a, b));
  /**
   * Whether any name has ever contained a surrogate. Until then, JavaScript's string order equals
   * code point order.
   */
  #hasSurrogates = false;
  /** Reservations by instance id, with their expiry by the wall clock in Unix milliseconds. */
  readonly #places = new Map<string, number>();
  #bytes = 0;
  /** Sum over all row checksums (id and version). Equal sums identify equal listings. */
  #checksum = 0;
  readonly #renames: RenameLog;

  /** `epoch` must differ for every listing load. */
  constructor(epoch = 0) {
    this.#renames = new RenameLog(epoch);
  }

  /** Instance count. */
  get total(): number {
    return this.#total;
  }

  /** Approximate memory use in bytes. */
  get bytes(): number {
    return this.#bytes + this.#renames.bytes;
  }

  /** Whether the listing has neither rows nor reservations. */
  get isBlank(): boolean {
    return this.#total + this.#places.size === 0;
  }

  /**
   * Reserves a place for an instance before its create. Reservations count towards `instancesMax`
   * and expire after `PLACE_AGE_MS`. Throws `forbidden` if the account is full, and
   * `service_unavailable` if too many creates are in progress. Source: decision 154.
   */
  reserve(instanceId: string, instancesMax: number, nowMs: number): void {
    if (this.#find(instanceId) !== undefined) return;
    if (!this.#places.has(instanceId)) {
      this.#forgetPlaces(nowMs);
      if (this.#places.size >= PLACES_MAX) {
        throw faultFor('overloaded', 'too many creates of one account', { retryAfterS: 1 });
      }
      if (this.total + this.#places.size >= instancesMax) {
        throw faultFor('instance_limit', `the account's plan allows ${instancesMax} instances`);
      }
    }
    this.#places.set(instanceId, nowMs + PLACE_AGE_MS);
  }

  /** Whether reservations exist for creates in progress. */
  isKeepingPlaces(nowMs: number): boolean {
    this.#forgetPlaces(nowMs);
    return this.#places.size > 0;
  }

  /** Whether the instance has a row or a reservation. */
  isExpecting(instanceId: string): boolean {
    return this.#places.has(instanceId) || this.#find(instanceId) !== undefined;
  }

  /** Adds or replaces an instance's row, unless the listing has the same or a higher version. */
  put(row: ListedInstance): void {
    const known = this.#find(row.instanceId);
    if (known !== undefined && row.version <= known.version) return;
    this.#places.delete(row.instanceId);
    if (known !== undefined) {
      this.#drop(known);
      if (known.name !== row.name) this.#renames.add(known.instanceId, known.name);
    }
    this.#hasSurrogates ||= hasSurrogates(row.name);
    this.#count(row, 1);
    this.#byId.insert(row);
    this.#byCreation.insert(row);
    this.#byName.insert(row);
  }

  /** Removes an instance's row and reservation after its deletion at `version`. */
  remove(instanceId: string, version: number): void {
    this.#places.delete(instanceId);
    const known = this.#find(instanceId);
    if (known !== undefined && known.version < version) this.#drop(known);
  }

  /** Page in the requested order, without `search`. Throws `invalid_parameter` like `search`. */
  page(page: ListingPage): ListedPage {
    const { total } = this;
    if (page.cursor === undefined) {
      const rows = this.#rowsAt(page);
      return {
        total,
        rows,
        next: this.#next(page, rows, page.offset + rows.length < total, this.#namesNow()),
      };
    }
    const walk = this.#walkOf(page.cursor);
    const rows: ListedInstance[] = [];
    for (const row of this.#sorted(page).behind(walk.last, page.order)) {
      if (rows.length > page.limit) break;
      if (!walk.names.has(row.instanceId)) rows.push(row);
    }
    const renamed = this.#renamedIn(page, walk, () => true);
    return { total, ...this.#walked(page, walk, rows, renamed, this.#namesNow()) };
  }

  #rowsAt(page: ListingPage): ListedInstance[] {
    const { limit, offset, order } = page;
    const rows = this.#sorted(page);
    if (order === 'asc') return rows.slice(offset, limit);
    const end = this.total - offset;
    const count = Math.min(limit, end);
    return count <= 0 ? [] : rows.slice(end - count, count).reverse();
  }

  #sorted({ sort }: Pick<ListingPage, 'sort'>): SortedBlocks<ListedInstance> {
    return sort === 'name' ? this.#byName : this.#byCreation;
  }

  /** Restores a cursor's state. Throws `invalid_parameter` if old names are no longer stored. */
  #walkOf(cursor: InstancesCursor): Walk {
    const { createdAtMs, instanceId, byName } = cursor;
    const last = { instanceId, createdAtMs, version: 0, name: byName?.name ?? '' };
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
    rows: readonly ListedInstance[],
    renamed: readonly PlacedRow[],
    names: NamesAt,
  ): Omit<ListedPage, 'total'> {
    const placed = [...rows.map((row) => ({ row, at: row })), ...renamed];
    placed.sort((a, b) => this.#compareIn(page, a.at, b.at));
    const shown = placed.slice(0, page.limit);
    const next = this.#next(
      page,
      shown.map(({ at }) => at),
      placed.length > page.limit,
      names,
      walk,
    );
    return { rows: shown.map(({ row }) => row), next };
  }

  /** Rows that were renamed since the first page and follow the cursor, at their old positions. */
  #renamedIn(
    page: ListingPage,
    { names, last }: Walk,
    isFound: (row: ListedInstance) => boolean,
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
    { sort, order, search, offset, cursor }: ListingPage,
    rows: readonly ListedInstance[],
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
    return { sort, order, search, seen, createdAtMs, instanceId, byName };
  }

  /**
   * Searches the rows that exist at the first step; later changes stay invisible. Checks every row,
   * yields after each time slice so that other calls can run, and returns the page. `nowMs` is a
   * monotonic clock.
   */
  *search(text: string, page: ListingPage, nowMs: () => number): Generator<undefined, ListedPage> {
    const { offset, order, cursor } = page;
    const walk = cursor && this.#walkOf(cursor);
    const isFound = searchFor(text);
    const blocks = this.#sorted(page).copy(order);
    const names = this.#namesNow();
    const renamed = walk === undefined ? [] : this.#renamedIn(page, walk, isFound);
    const rows: ListedInstance[] = [];
    let total = 0;
    const isWanted = this.#wantedOf(page, walk, rows);
    const slice = new SearchSlice(nowMs);
    for (const block of blocks) {
      for (const row of block) {
        if (slice.isOver()) {
          yield;
          slice.begin();
        }
        if (!isFound(row)) continue;
        if (isWanted(row, total)) rows.push(row);
        total += 1;
      }
    }
    if (walk !== undefined) return { total, ...this.#walked(page, walk, rows, renamed, names) };
    return { total, rows, next: this.#next(page, rows, offset + rows.length < total, names) };
  }

  /**
   * Returns a predicate: whether a matching row belongs to the page after `rows`. The second
   * argument is the row's position among all matching rows.
   */
  #wantedOf(page: ListingPage, walk: Walk | undefined, rows: readonly ListedInstance[]) {
    const { limit, offset } = page;
    return walk === undefined
      ? (_: ListedInstance, place: number) => place >= offset && rows.length < limit
      : (row: ListedInstance) => rows.length <= limit && this.#isBehind(page, row, walk);
  }

  /** Whether a row without a rename follows the cursor. */
  #isBehind(page: ListingPage, row: ListedInstance, { last, names }: Walk): boolean {
    return !names.has(row.instanceId) && this.#compareIn(page, row, last) > 0;
  }

  #forgetPlaces(nowMs: number): void {
    for (const [instanceId, endMs] of this.#places) {
      if (endMs < nowMs) this.#places.delete(instanceId);
    }
  }

  /** Compares names by code point. Uses JavaScript's faster comparison if both orders are equal. */
  #compareNames(a: ListedInstance, b: ListedInstance): number {
    if (this.#hasSurrogates) return compareCodePoints(a.name, b.name) || byCreation(a, b);
    if (a.name === b.name) return byCreation(a, b);
    return a.name < b.name ? -1 : 1;
  }

  #find(instanceId: string): ListedInstance | undefined {
    return this.#byId.find({ instanceId, version: 0, name: '', createdAtMs: 0 });
  }

  #count(row: ListedInstance, sign: 1 | -1): void {
    this.#total += sign;
    this.#bytes += sign * listedBytes(row);
    this.#checksum = (this.#checksum + sign * checksumOf(row)) >>> 0;
  }

  #drop(row: ListedInstance): void {
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

/** Time slice of a search. */
class SearchSlice {
  readonly #nowMs: () => number;
  #rows = 0;
  #endMs = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.begin();
  }

  begin(): void {
    this.#endMs = this.#nowMs() + SEARCH_SLICE_MS;
  }

  /** Counts a row. Reads the clock every `SEARCHED_ROWS_PER_LOOK` rows. */
  isOver(): boolean {
    this.#rows += 1;
    return this.#rows % SEARCHED_ROWS_PER_LOOK === 0 && this.#nowMs() >= this.#endMs;
  }
}

/**
 * Returns a predicate: whether a row's name contains `text` in any case, or its id equals `text`.
 */
function searchFor(text: string): (row: ListedInstance) => boolean {
  // Twice as fast as comparing lower-case names, which would copy each name.
  const pattern = new RegExp(RegExp.escape(text), 'iu');
  return ({ name, instanceId }) => pattern.test(name) || instanceId === text;
}

/** Compares ids by code point. Ids are ASCII, so JavaScript's faster comparison is correct. */
function byId({ instanceId: a }: ListedInstance, { instanceId: b }: ListedInstance): number {
  return a < b ? -1 : Number(a > b);
}

function byCreation(a: ListedInstance, b: ListedInstance): number {
  return a.createdAtMs - b.createdAtMs || byId(a, b);
}
