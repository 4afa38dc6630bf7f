import type { Counts, Recorded, RecordedLoad } from '#test/restore/recorded-load';

/** Callers' records at the kill. Separate, because rehearsal and checks share the type. */
export type Written = {
  /** Mark of each Cassandra node. */
  readonly marks: readonly string[];
  /** Observations acknowledged when the snapshot began. */
  readonly atSnapshot: number;
  /** Counts when the mark began, and when it was complete. */
  readonly before: Counts;
  readonly after: Counts;
  readonly acknowledged: number;
  /** Loads of two accounts: without a limit, and with a quota. */
  readonly busy: RecordedLoad;
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
