import type { Counts, Recorded, RecordedLoad } from '#test/restore/recorded-load';

/**
 * Records of the callers when the cluster is killed. In its own file, because the rehearsal and the
 * checks share the type.
 */
export type Written = {
  /** Mark of each Cassandra node. */
  readonly marks: readonly string[];
  /** Observations acknowledged when the snapshot began. */
  readonly atSnapshot: number;
  /** Counts when the mark began. */
  readonly before: Counts;
  /** Counts when the mark was complete. */
  readonly after: Counts;
  readonly acknowledged: number;
  /** Load of the account without a limit. */
  readonly busy: RecordedLoad;
  /** Load of the account with a quota. */
  readonly bound: RecordedLoad;
  readonly boundAccount: string;
  readonly quota: number;
  readonly chargedBefore: number;
  /** Observations with an idempotency key, before and after the mark. */
  readonly keyed: Readonly<
    Record<'early' | 'late', { readonly at: number; readonly cycle: number | undefined }>
  >;
  readonly spare: Recorded;
};
