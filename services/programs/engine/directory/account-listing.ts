import { crc32 } from 'node:zlib';
import { RenameLog, SortedBlocks } from '#engine/directory/names';
import { compareCodePoints, hasSurrogates } from '#engine/json';
import { faultFor } from '#errors/fault';
import { type InstancesCursor, unusableCursor } from '#grpc/list-cursor';
import { type ListedInstance, listedBytes } from '#storage/ports/listings';

/** Maximum number of concurrent creates per account. Source: decision 154. */
const PLACES_MAX = 1_024;

/** Time slice of a search before it yields, in milliseconds. Source: decision 254. */
const SEARCH_SLICE_MS = 2;

/**
 * Number of rows between two reads of the clock. Names of 100 characters in any alphabet take half
 * a slice.
 */
const SEARCHED_ROWS_PER_LOOK = 64;

/** Time for which a place is reserved for a create, in milliseconds. Twice the longest call. */
const PLACE_AGE_MS = 20_000;

/** Page of a listing that a caller asks for. Source: interface 4.1. */
export type ListingPage = {
  readonly limit: number;
  readonly offset: number;
  readonly sort: 'created_at' | 'name';
  readonly order: 'asc' | 'desc';
  /** Part of a name in any case, or a whole id; undefined: all instances. Source: decision 254. */
  readonly search?: string | undefined;
  /**
   * Position where a walk continues; undefined: at `offset`. Its sort, order and search equal the
   * page's.
   */
  readonly cursor?: InstancesCursor | undefined;
};

/** Rows of a page in order, and the number of all matching rows. */
export type ListedPage = {
  readonly total: number;
  readonly rows: readonly ListedInstance[];
  /** Start of the next page; undefined if there is none. */
  readonly next?: InstancesCursor | undefined;
};

/**
 * A walk over a listing by cursor. Rows keep the order of the present listing, except rows that
 * were renamed since the walk began.
 */
type Walk = {
  readonly cursor: InstancesCursor;
  readonly last: ListedInstance;
  readonly renames: number;
  /** Old names of rows that were renamed since the walk began, by instance id. */
  readonly names: ReadonlyMap<string, string>;
};

const NO_NAMES: ReadonlyMap<string, string> = new Map();

/**
 * A row, and the row that decides its place: the same row with its name at the start of the walk.
 */
type PlacedRow = { readonly row: ListedInstance; readonly at: ListedInstance };

/** State of the names at one moment, for a cursor. */
type NamesAt = { readonly epoch: number; readonly count: number; readonly checksum: number };

/** Instances of one account, sorted by creation and by name. */
export class AccountListing {
  #total = 0;
  // Sorted by id too: a map would take four times the memory.
  readonly #byId = new SortedBlocks<ListedInstance>(byId);
  readonly #byCreation = new SortedBlocks<ListedInstance>(byCreation);
  readonly #byName = new SortedBlocks<ListedInstance>((a, b) => this.#compareNames(a, b));
  /**
   * Whether any name ever had a surrogate. Until then JavaScript's order of names equals code point
   * order.
   */
  #hasSurrogates = false;
  /** Reserved places by instance id, with their expiry by the wall clock in Unix milliseconds. */
  readonly #places = new Map<string, number>();
  #bytes = 0;
  /**
   * Sum of the checksums of all rows (id and version). Equal sums identify equal states of the
   * listing.
   */
  #checksum = 0;
  readonly #renames: RenameLog;

  /** `epoch`: differs for every load of this account's listing. */
  constructor(epoch = 0) {
    this.#renames = new RenameLog(epoch);
  }

  /** Number of the account's instances. */
  get total(): number {
    return this.#total;
  }

  /** Approximate bytes in memory. */
  get bytes(): number {
    return this.#bytes + this.#renames.bytes;
  }

  /** Whether the listing has neither rows nor reserved places. */
  get isBlank(): boolean {
    return this.#total + this.#places.size === 0;
  }

  /**
   * Reserves a place for an instance that is about to be created, for as long as its create may
   * take. Reserved places count towards `instancesMax`. Throws `forbidden` when the account is
   * full. Throws `service_unavailable` when too many creates are in progress. Source: decision 154.
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

  /** Whether places are reserved for instances that may still be created. */
  isKeepingPlaces(nowMs: number): boolean {
    this.#forgetPlaces(nowMs);
    return this.#places.size > 0;
  }

  /** Whether the instance has a row or a reserved place. */
  isExpecting(instanceId: string): boolean {
    return this.#places.has(instanceId) || this.#find(instanceId) !== undefined;
  }

  /**
   * Adds or replaces the row of an instance, unless the listing has the same or a higher version.
   */
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

  /** Removes the row of an instance that was deleted at `version`, and its reserved place. */
  remove(instanceId: string, version: number): void {
    this.#places.delete(instanceId);
    const known = this.#find(instanceId);
    if (known !== undefined && known.version < version) this.#drop(known);
  }

  /** Page in its order, ignoring `search`. Throws `invalid_parameter` as `search` does. */
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

  /** Walk of a cursor. Throws `invalid_parameter` if the order at the start of the walk is lost. */
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
   * Merges a page of a walk and cuts it to `limit`. `rows` keep their places after the walk's last
   * row. `renamed` are rows at their old places.
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

  /** Rows that were renamed since the walk began and are still to come, at their old places. */
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

  /** Cursor after the last of `rows`, whose names are those at the start of the walk. */
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
   * Searches the rows of the first step; later changes do not show. Checks every row, and yields
   * after each time slice so that other calls can run. Returns the page. `nowMs` is a monotonic
   * clock.
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
   * Predicate: whether a found row, at its place among all found rows, belongs to the page after
   * `rows`.
   */
  #wantedOf(page: ListingPage, walk: Walk | undefined, rows: readonly ListedInstance[]) {
    const { limit, offset } = page;
    return walk === undefined
      ? (_: ListedInstance, place: number) => place >= offset && rows.length < limit
      : (row: ListedInstance) => rows.length <= limit && this.#isBehind(page, row, walk);
  }

  /** Whether a row that was not renamed is still to come. */
  #isBehind(page: ListingPage, row: ListedInstance, { last, names }: Walk): boolean {
    return !names.has(row.instanceId) && this.#compareIn(page, row, last) > 0;
  }

  #forgetPlaces(nowMs: number): void {
    for (const [instanceId, endMs] of this.#places) {
      if (endMs < nowMs) this.#places.delete(instanceId);
    }
  }

  /**
   * Compares by code point. Uses JavaScript's own comparison if it is equal, which is several times
   * as fast.
   */
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

/** Checksum of a row's id and version, mixed so that sums of several rows rarely collide. */
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

/** Predicate: whether a row's name contains `text` in any case, or its id equals `text`. */
function searchFor(text: string): (row: ListedInstance) => boolean {
  // Twice as fast as comparing lower-case names, each of which would be a copy.
  const pattern = new RegExp(RegExp.escape(text), 'iu');
  return ({ name, instanceId }) => pattern.test(name) || instanceId === text;
}

/** Compares ids by code point. Ids are ASCII, so JavaScript's own, faster comparison is correct. */
function byId({ instanceId: a }: ListedInstance, { instanceId: b }: ListedInstance): number {
  return a < b ? -1 : Number(a > b);
}

function byCreation(a: ListedInstance, b: ListedInstance): number {
  return a.createdAtMs - b.createdAtMs || byId(a, b);
}
