import { crc32 } from 'node:zlib';
import { RenameLog, SortedBlocks } from '#engine/directory/names';
import { compareCodePoints, hasSurrogates } from '#engine/json';
import { faultFor } from '#fault/fault';
import { type ListedInstance, listedBytes } from '#storage/ports/listings';
import { type InstancesCursor, unusableCursor } from '#wire/list-cursor';

/** Creates of one account under way at once. Source: decision 154. */
const PLACES_MAX = 1_024;

/** How long a search works before others get their turn, in milliseconds. Source: decision 254. */
const SEARCH_SLICE_MS = 2;

/** Rows between two looks at the clock: names of 100 characters of any alphabet take half a slice. */
const SEARCHED_ROWS_PER_LOOK = 64;

/** How long a place is kept for a create: twice the longest call, in milliseconds. */
const PLACE_AGE_MS = 20_000;

/** Which part of a listing is wanted, and in which order. Source: interface 4.1. */
export type ListingPage = {
  readonly limit: number;
  readonly offset: number;
  readonly sort: 'created_at' | 'name';
  readonly order: 'asc' | 'desc';
  /** Part of a name, in whatever case, or an id; undefined: all. Source: decision 254. */
  readonly search?: string | undefined;
  /** Where a walk goes on; undefined: at `offset`. It has the page's sort, order and search. */
  readonly cursor?: InstancesCursor | undefined;
};

/** Rows of a listing in its order, and how many there are of their kind. */
export type ListedPage = {
  readonly total: number;
  readonly rows: readonly ListedInstance[];
  /** Where the next page begins; undefined: there is none. */
  readonly next?: InstancesCursor | undefined;
};

/** The order of a walk: that of the present rows, but for rows that were renamed since it began. */
type Walk = {
  readonly cursor: InstancesCursor;
  readonly last: ListedInstance;
  readonly renames: number;
  /** Names at the beginning of the walk, of rows that were renamed since. */
  readonly names: ReadonlyMap<string, string>;
};

const NO_NAMES: ReadonlyMap<string, string> = new Map();

/** A row, and the row by which it is sorted: with the name of the walk's beginning. */
type PlacedRow = { readonly row: ListedInstance; readonly at: ListedInstance };

/** State of the names at one moment, as a cursor has it. */
type NamesAt = { readonly epoch: number; readonly count: number; readonly checksum: number };

/** One account's instances, sorted both ways. */
export class AccountListing {
  #total = 0;
  // By id, too: a map would take four times the place.
  readonly #byId = new SortedBlocks<ListedInstance>(byId);
  readonly #byCreation = new SortedBlocks<ListedInstance>(byCreation);
  readonly #byName = new SortedBlocks<ListedInstance>((a, b) => this.#compareNames(a, b));
  /** Whether a name ever had a surrogate: until then JavaScript's order of names is that of code points. */
  #hasSurrogates = false;
  /** Places kept for instances that are about to be created, and until when, by the wall clock. */
  readonly #places = new Map<string, number>();
  #bytes = 0;
  /** Sum of a checksum of each row's id and version, by which two states of the listing are compared. */
  #checksum = 0;
  readonly #renames: RenameLog;

  /** `epoch`: unlike that of any other load of this account's listing. */
  constructor(epoch = 0) {
    this.#renames = new RenameLog(epoch);
  }

  /** How many instances the account has. */
  get total(): number {
    return this.#total;
  }

  /** Roughly the bytes held. */
  get bytes(): number {
    return this.#bytes + this.#renames.bytes;
  }

  /** Whether it holds nothing: no row and no place. */
  get isBlank(): boolean {
    return this.#total + this.#places.size === 0;
  }

  /**
   * Keeps a place for an instance that is about to be created, for as long as its create may take.
   * Throws `forbidden` when there is none; places that are kept count. Source: decision 154.
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

  /** Whether places are kept for instances that may yet come. */
  isKeepingPlaces(nowMs: number): boolean {
    this.#forgetPlaces(nowMs);
    return this.#places.size > 0;
  }

  /** Whether a row of this instance can be expected: it has one, or a place is kept for it. */
  isExpecting(instanceId: string): boolean {
    return this.#places.has(instanceId) || this.#find(instanceId) !== undefined;
  }

  /** Takes a row in, unless the instance has one of the same or a higher version. */
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

  /** Takes out the row of an instance deleted at this version, or the place that was kept for it. */
  remove(instanceId: string, version: number): void {
    this.#places.delete(instanceId);
    const known = this.#find(instanceId);
    if (known !== undefined && known.version < version) this.#drop(known);
  }

  /** A page in its order, whatever is searched for. Throws `invalid_parameter` as `search` does. */
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

  /** Throws `invalid_parameter` if the order with which the walk began is no longer known. */
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
   * A page of a walk: the first `limit` of `rows`, which keep their places and lie behind the walk's last
   * row, and of those that were renamed, each at its old place.
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

  /** Rows that were renamed since a walk began and are still to come, at their old places. */
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

  /** The cursor behind the last of `rows`, which have the names of the walk's beginning. */
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
   * The page of what a search finds among the rows of the first step, whatever changes afterwards. It
   * looks at every row, and yields after each slice of time so that others get their turn.
   * `nowMs` is a clock that never steps back.
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

  /** Whether a found row, at its place among those found, belongs to the page of which `rows` are there. */
  #wantedOf(page: ListingPage, walk: Walk | undefined, rows: readonly ListedInstance[]) {
    const { limit, offset } = page;
    return walk === undefined
      ? (_: ListedInstance, place: number) => place >= offset && rows.length < limit
      : (row: ListedInstance) => rows.length <= limit && this.#isBehind(page, row, walk);
  }

  /** Whether a row that keeps its place is still to come. */
  #isBehind(page: ListingPage, row: ListedInstance, { last, names }: Walk): boolean {
    return !names.has(row.instanceId) && this.#compareIn(page, row, last) > 0;
  }

  #forgetPlaces(nowMs: number): void {
    for (const [instanceId, endMs] of this.#places) {
      if (endMs < nowMs) this.#places.delete(instanceId);
    }
  }

  /** By code point, in JavaScript's own way where that is the same: it is several times as fast. */
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

/** A checksum of a row's id and version, mixed so that sums of several seldom agree. */
function checksumOf({ instanceId, version }: ListedInstance): number {
  let mixed = crc32(instanceId) ^ Math.imul(version, 0x9e37_79b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** Time of a search before others get their turn. */
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

  /** Counts a row, and looks at the clock now and then. */
  isOver(): boolean {
    this.#rows += 1;
    return this.#rows % SEARCHED_ROWS_PER_LOOK === 0 && this.#nowMs() >= this.#endMs;
  }
}

/** Whether a row has the text in its name, in whatever case, or as its id. */
function searchFor(text: string): (row: ListedInstance) => boolean {
  // Twice as fast as names in lower case, of which each would be a copy.
  const pattern = new RegExp(RegExp.escape(text), 'iu');
  return ({ name, instanceId }) => pattern.test(name) || instanceId === text;
}

/** Ids are ASCII, so JavaScript's own order, which is several times as fast, is that of code points. */
function byId({ instanceId: a }: ListedInstance, { instanceId: b }: ListedInstance): number {
  return a < b ? -1 : Number(a > b);
}

function byCreation(a: ListedInstance, b: ListedInstance): number {
  return a.createdAtMs - b.createdAtMs || byId(a, b);
}
