import type { InstancesCursor } from '#grpc/list-cursor';
import type { Flags } from '#identity/transitions';
import type { ListedInstance } from '#storage/ports/listings';

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
