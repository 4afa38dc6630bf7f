import type { ListedInstance } from '#clients/typescript/src/models';
import type { InstanceList } from '#pages/fleet/api';

/** Rows per request. The console refuses more. */
export const PAGE_ROWS = 100;

/** Maximum number of cached rows: the visible rows, and the rows of the last scrolls. */
const KEPT_ROWS_MAX = 2_000;

/** The page to load next: by offset, or by the cursor of the previous page. */
export type WantedPage =
  | { readonly offset: number; readonly cursor?: undefined }
  | { readonly cursor: string; readonly offset?: undefined };

/**
 * Cached rows of a list of any length. An order that allows no offset loads its pages one after the
 * other, so its list grows while the reader scrolls.
 */
export class FleetRows {
  readonly #rows = new Map<number, ListedInstance>();
  readonly #isSequential: boolean;
  #total: number | undefined;
  /** Sequential lists: rows loaded so far, and the cursor of the next page. */
  #loaded = 0;
  #cursor: string | null = null;

  constructor(isSequential: boolean) {
    this.#isSequential = isSequential;
  }

  /** Number of selected instances. Undefined before the first answer. */
  get total(): number | undefined {
    return this.#total;
  }

  /** Number of rows that the reader can scroll to. */
  get length(): number {
    if (this.#total === undefined) return 0;
    if (!this.#isSequential) return this.#total;
    return this.#cursor === null ? this.#loaded : this.#loaded + PAGE_ROWS;
  }

  at(index: number): ListedInstance | undefined {
    return this.#rows.get(index);
  }

  /** Cached rows. */
  rows(): IterableIterator<ListedInstance> {
    return this.#rows.values();
  }

  /** The page that rows `from` to `to` need. Undefined if the rows are cached. */
  missing(from: number, to: number): WantedPage | undefined {
    if (this.#total === undefined) return { offset: 0 };
    for (let index = from; index <= Math.min(to, this.length - 1); index += 1) {
      if (this.#rows.has(index)) continue;
      if (!this.#isSequential) return { offset: Math.floor(index / PAGE_ROWS) * PAGE_ROWS };
      return this.#cursor === null ? undefined : { cursor: this.#cursor };
    }
    return undefined;
  }

  /** Adds the answer to `wanted`. */
  add(wanted: WantedPage, { data, pagination }: InstanceList): void {
    const first = wanted.offset ?? this.#loaded;
    for (const [index, row] of data.entries()) this.#rows.set(first + index, row);
    this.#total = pagination.total;
    this.#loaded = Math.max(this.#loaded, first + data.length);
    this.#cursor = pagination.next_cursor;
    // A sequential list cannot load a dropped row again.
    if (!this.#isSequential) this.#drop(first);
  }

  /** Replaces cached rows of an instance. Returns whether a row changed. */
  change(id: string, to: (row: ListedInstance) => ListedInstance): boolean {
    for (const [index, row] of this.#rows) {
      if (row.id !== id) continue;
      this.#rows.set(index, to(row));
      return true;
    }
    return false;
  }

  /** Drops rows that are far from the newest page. */
  #drop(near: number): void {
    for (const index of this.#rows.keys()) {
      if (this.#rows.size <= KEPT_ROWS_MAX) return;
      if (Math.abs(index - near) > KEPT_ROWS_MAX / 2) this.#rows.delete(index);
    }
  }
}
