import type { Fault } from '#fault/fault';

/** One committed event of one actor, as the journal keeps it. Source: architecture 3.1. */
export type JournalRecord = {
  /** The kind of actor. */
  readonly actor: string;
  readonly actorId: string;
  /** Grows by one per committed event of the actor, for life. */
  readonly version: number;
  /** The call that committed it, 0 for none: a retry must find it after a crash too. */
  readonly callId: number;
  /** Server time of the commit in Unix milliseconds. */
  readonly atMs: number;
  /** The event with everything needed to run it again; plain JSON data. */
  readonly event: unknown;
};

/** What has happened, in the order in which it did. One writer. */
export interface Journal {
  /** Whether records outlive this process. */
  readonly isLasting: boolean;
  /** Whether no other node can take its actors over while this process lives. */
  readonly isOnlyWriter: boolean;
  /** Why nothing more should be committed for now, although what is appended may still be; absent: nothing. */
  readonly refusal?: (() => Fault | undefined) | undefined;
  /**
   * Makes a group of records, each as one line of JSON, durable as one unit. Returns undefined when
   * it is durable at once, else a promise that fulfils when it is and no other writer could take its
   * actors over before this call; it rejects with `service_unavailable` when this writer must stop.
   * Groups may be under way side by side, and are durable in order. Groups before the one at the
   * low-water mark (from 0, in the order of the calls) are not needed any more. `traceparent` is of the
   * append's own span, if it has one.
   */
  append(
    lines: readonly string[],
    lowWaterMark: number,
    traceparent?: string,
  ): Promise<void> | undefined;
}
