import type { InstanceFilter, InstancesCursor, InstancesSort } from '#grpc/list-cursor';
import type { Flags } from '#identity/transitions';
import type { ListedInstance } from '#storage/ports/listings';

/** Requested listing page. Source: interface 4.1. */
export type ListingPage = {
  readonly limit: number;
  readonly offset: number;
  readonly sort: InstancesSort;
  readonly order: 'asc' | 'desc';
  /** Name part in any case, or a whole id; undefined: all instances (decision 254). */
  readonly search?: string | undefined;
  /** Wanted values; undefined: all instances. Needs an index. */
  readonly filter?: InstanceFilter | undefined;
  /**
   * Cursor to continue from; undefined: start at `offset`. Sort, order and search must equal the
   * cursor's.
   */
  readonly cursor?: InstancesCursor | undefined;
};

/** A row of a page. Filtered rows have the values that the filter compared. */
export type FoundInstance = ListedInstance & {
  readonly flags?: Flags | undefined;
  readonly changedAtMs?: number | undefined;
};

/** A page's rows in order, and the total number of matching rows. */
export type ListedPage = {
  readonly total: number;
  readonly rows: readonly FoundInstance[];
  /** Next page's cursor; undefined at the end. */
  readonly next?: InstancesCursor | undefined;
};
