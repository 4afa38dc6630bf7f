import type { Counts, Recorded, RecordedLoad } from '#test/restore/recorded-load';

/** What was known when everything was killed. */
export type Written = {
  /** Of each Cassandra node. */
  readonly marks: readonly string[];
  /** Observations that were acknowledged when the snapshot began. */
  readonly atSnapshot: number;
  /** What was known when the mark began, and when it was made. */
  readonly before: Counts;
  readonly after: Counts;
  readonly acknowledged: number;
  /** Of an account without a limit, and of one with a quota. */
  readonly busy: RecordedLoad;
  readonly bound: RecordedLoad;
  readonly boundAccount: string;
  readonly quota: number;
  readonly chargedBefore: number;
  /** Its observations with a key, before the moment and after. */
  readonly keyed: Readonly<
    Record<'early' | 'late', { readonly at: number; readonly cycle: number | undefined }>
  >;
  readonly spare: Recorded;
};
