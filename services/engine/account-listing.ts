import { compareCodePoints, hasSurrogates } from '#engine/code-points';
import { SortedBlocks } from '#engine/sorted-blocks';
import { faultFor } from '#fault/fault';
import { type ListedInstance, listedBytes } from '#storage/listing-store';

/** Creates of one account under way at once. Source: decision 154. */
const PLACES_MAX = 1_024;

/** Rows that a search looks at before others get their turn: a millisecond or two. Source: decision 254. */
const SEARCHED_ROWS_PER_SLICE = 8_192;

/** How long a place is kept for a create: twice the longest call, in milliseconds. */
const PLACE_AGE_MS = 20_000;

/** Which part of a listing is wanted, and in which order. Source: interface 4.1, decision 40. */
export type ListingPage = {
  readonly limit: number;
  readonly offset: number;
  readonly sort: 'created_at' | 'name';
  readonly order: 'asc' | 'desc';
  /** Part of a name, in whatever case, or an id; undefined: all. Source: decision 254. */
  readonly search?: string | undefined;
};

/** Rows of a listing in its order, and how many there are of their kind. */
export type ListedPage = { readonly total: number; readonly rows: readonly ListedInstance[] };

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

  /** How many instances the account has. */
  get total(): number {
    return this.#total;
  }

  /** Roughly the bytes held. */
  get bytes(): number {
    return this.#bytes;
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
    if (known !== undefined) this.#drop(known);
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

  /** The rows of a page in its order, whatever is searched for. */
  page({ limit, offset, sort, order }: ListingPage): ListedInstance[] {
    const rows = sort === 'name' ? this.#byName : this.#byCreation;
    if (order === 'asc') return rows.slice(offset, limit);
    const end = this.total - offset;
    const count = Math.min(limit, end);
    return count <= 0 ? [] : rows.slice(end - count, count).reverse();
  }

  /**
   * The page of what a search finds. It looks at every row, and yields now and then so that others get
   * their turn; meanwhile the listing must not change.
   */
  *search(
    text: string,
    { limit, offset, sort, order }: ListingPage,
  ): Generator<undefined, ListedPage> {
    const isFound = searchFor(text);
    const rows: ListedInstance[] = [];
    let total = 0;
    let looked = 0;
    for (const block of (sort === 'name' ? this.#byName : this.#byCreation).blocks(order)) {
      for (const row of block) {
        if (!isFound(row)) continue;
        if (total >= offset && rows.length < limit) rows.push(row);
        total += 1;
      }
      looked += block.length;
      if (looked < SEARCHED_ROWS_PER_SLICE) continue;
      looked = 0;
      yield;
    }
    return { total, rows };
  }

  #forgetPlaces(nowMs: number): void {
    for (const [instanceId, endMs] of this.#places) {
      if (endMs < nowMs) this.#places.delete(instanceId);
    }
  }

  /** By code point (decision 40), in JavaScript's own way where that is the same: it is several times as fast. */
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
  }

  #drop(row: ListedInstance): void {
    this.#count(row, -1);
    this.#byId.remove(row);
    this.#byCreation.remove(row);
    this.#byName.remove(row);
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
