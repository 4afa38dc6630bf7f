import { compareCodePoints } from '#engine/code-points';
import { SortedBlocks } from '#engine/sorted-blocks';
import type { ListingRow } from '#storage/listing-store';

/** Bytes of one row in memory, its place in both orders included, without its text. */
const ROW_BYTES = 160;

/** Which part of a listing is wanted, and in which order. Source: spec 4.1, decision 40. */
export type ListingPage = {
  readonly limit: number;
  readonly offset: number;
  readonly sort: 'created_at' | 'name';
  readonly order: 'asc' | 'desc';
};

/** One account's instances, sorted both ways. Changes merge by version, so their order is free. */
export class AccountListing {
  readonly #rows = new Map<string, ListingRow>();
  readonly #removed = new Map<string, number>();
  readonly #byCreation = new SortedBlocks<ListingRow>(byCreation);
  readonly #byName = new SortedBlocks<ListingRow>(byName);
  #textBytes = 0;

  /** A listing of the rows that the store knows. */
  constructor(rows: readonly ListingRow[]) {
    for (const row of rows) this.#keep(row);
    this.#byCreation.fill(rows);
    this.#byName.fill(rows);
  }

  /** How many instances the account has. */
  get total(): number {
    return this.#rows.size;
  }

  /** Roughly the bytes held. */
  get bytes(): number {
    return (this.#rows.size + this.#removed.size) * ROW_BYTES + this.#textBytes;
  }

  /** Whether it holds nothing: no row, and no removal that a late change must not undo. */
  get isBlank(): boolean {
    return this.#rows.size === 0 && this.#removed.size === 0;
  }

  /** Takes a row in, unless it or its removal is known at the same or a higher version. */
  put(row: ListingRow): void {
    const known = this.#rows.get(row.instanceId);
    const removedAt = this.#removed.get(row.instanceId) ?? 0;
    if (row.version <= Math.max(known?.version ?? 0, removedAt)) return;
    if (known !== undefined) this.#drop(known);
    this.#keep(row);
    this.#byCreation.insert(row);
    this.#byName.insert(row);
  }

  /** Takes a row out for good. */
  remove(instanceId: string, version: number): void {
    const known = this.#rows.get(instanceId);
    const removedAt = this.#removed.get(instanceId) ?? 0;
    if (version <= Math.max(known?.version ?? 0, removedAt)) return;
    this.#removed.set(instanceId, version);
    if (known !== undefined) this.#drop(known);
  }

  /** The rows of a page in its order. */
  page({ limit, offset, sort, order }: ListingPage): ListingRow[] {
    const rows = sort === 'name' ? this.#byName : this.#byCreation;
    if (order === 'asc') return rows.slice(offset, limit);
    const end = this.total - offset;
    const count = Math.min(limit, end);
    return count <= 0 ? [] : rows.slice(end - count, count).reverse();
  }

  #keep(row: ListingRow): void {
    this.#rows.set(row.instanceId, row);
    this.#textBytes += 2 * (row.name.length + row.description.length);
  }

  #drop(row: ListingRow): void {
    this.#rows.delete(row.instanceId);
    this.#textBytes -= 2 * (row.name.length + row.description.length);
    this.#byCreation.remove(row);
    this.#byName.remove(row);
  }
}

function byCreation(a: ListingRow, b: ListingRow): number {
  return a.createdAtMs - b.createdAtMs || compareCodePoints(a.instanceId, b.instanceId);
}

function byName(a: ListingRow, b: ListingRow): number {
  return compareCodePoints(a.name, b.name) || byCreation(a, b);
}
