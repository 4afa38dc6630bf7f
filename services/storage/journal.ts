/** One committed operation of one actor, as the journal keeps it. Source: architecture 3.1. */
export type JournalRecord = {
  readonly actorId: string;
  /** Grows by one per committed operation of the actor, for life. */
  readonly version: number;
  /** The operation with everything needed to run it again: input, server time, call id. */
  readonly operation: unknown;
};

/** What has happened, in the order in which it did. One writer. */
export interface Journal {
  /**
   * Makes a group durable as one unit. Returns undefined when it is durable at once, else a promise
   * that fulfils when it is and rejects with `service_unavailable` when this writer must stop.
   * Groups are durable in the order of the calls.
   */
  append(group: readonly JournalRecord[]): Promise<void> | undefined;
}
