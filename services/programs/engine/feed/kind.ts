import type { ActorCall, ActorKind, LoadedActor } from '#actor-runtime/actor-kind';
import type { Applied, Checkpoint, EventSourcing } from '#actor-runtime/event-sourcing';
import type { OutboxMetrics } from '#actor-runtime/outbox';
import type { Turn } from '#actor-runtime/turn';
import type { EventWaiters } from '#engine/events/pages';
import { Feed, type FeedView, type LookFrom } from '#engine/feed/feed';
import type { FeedCheckpoint, FeedRow, FeedStore } from '#storage/ports/feeds';
import type { Metrics } from '#telemetry/metrics';

/** Command to an account's feed. */
type FeedCommand =
  | { readonly kind: 'record'; readonly accountId: string; readonly rows: readonly FeedRow[] }
  /** Looks at the feed from a position on, at most at `count` rows in memory. */
  | { readonly kind: 'look'; readonly from: LookFrom; readonly count: number };

/** A command as actor call. */
export type FeedCall = ActorCall & FeedCommand;

/** Rows of one record, and its server time in Unix milliseconds. */
export type FeedRecord = { readonly atMs: number; readonly rows: readonly FeedRow[] };

/** Estimated size of a row in a record, in bytes. */
const ROW_BYTES = 80;

/** Rows in memory above which a feed is stored soon. */
const ROWS_HELD_URGENT = 16_384;

type FeedPorts = {
  readonly store: FeedStore;
  /** Calls that wait for rows. */
  readonly waiters: Pick<EventWaiters, 'changed'>;
};

/**
 * The feed of an account as a durable actor: the log of the transitions of its instances. The feed
 * alone gives positions, in its turns, so a reader never misses a row. Source: architecture 3.9.
 */
export class FeedKind
  implements
    ActorKind<Feed, FeedCall, FeedView, FeedRecord>,
    EventSourcing<Feed, FeedRecord, Applied<Feed>, FeedCheckpoint>
{
  readonly name = 'feed';
  readonly servedUntil = 'closed';
  readonly sourcing = this;
  readonly #ports: FeedPorts;

  constructor(ports: FeedPorts) {
    this.#ports = ports;
  }

  async activate(accountId: string): Promise<LoadedActor<Feed>> {
    const { store } = this.#ports;
    const head = await store.readHead(accountId);
    return { state: new Feed(head, store.rowsMax), version: head?.version ?? 0, recentCalls: [] };
  }

  receive(feed: Feed, call: FeedCall, turn: Turn<FeedRecord>): FeedView {
    if (call.kind === 'look') return feed.view(call.from, call.count, turn.wallMs);
    const rows = feed.newIn(call.rows);
    if (rows.length > 0) {
      turn.commit({ atMs: turn.wallMs, rows });
      this.#ports.waiters.changed(call.accountId);
    }
    return feed.view(0, 0, turn.wallMs);
  }

  apply(feed: Feed, { atMs, rows }: FeedRecord, version: number): Applied<Feed> {
    feed.take(rows, atMs, version);
    return { state: feed, answer: undefined };
  }

  recordOf({ atMs, rows }: FeedRecord): unknown {
    return [atMs, rows];
  }

  read(record: unknown): FeedRecord {
    return feedRecordOf(record);
  }

  sizeOfRecord({ rows }: FeedRecord): number {
    return rows.reduce((sum, [, , , { length }]) => sum + ROW_BYTES * length, ROW_BYTES);
  }

  bucketOf(accountId: string): number {
    return this.#ports.store.bucketOf(accountId);
  }

  checkpoint(accountId: string, feed: Feed): Checkpoint<Feed, FeedCheckpoint> {
    const copy = feed.copy(accountId);
    return { copy, forget: (later) => later.forget(copy) };
  }

  async store(copies: readonly FeedCheckpoint[]): Promise<void> {
    await this.#ports.store.checkpoint(copies);
  }

  sizeOf(feed: Feed): number {
    return feed.bytes;
  }

  sizeOfUnstored(feed: Feed): number {
    return feed.rowBytes;
  }

  isUrgent(feed: Feed): boolean {
    return feed.rowsHeld > ROWS_HELD_URGENT;
  }

  isAbsent(feed: Feed): boolean {
    return feed.isBlank;
  }
}

/**
 * Decodes a record of a feed. Throws an Error if the record is invalid. Trusts the types of a row,
 * because only `FeedKind` writes these records.
 */
export function feedRecordOf(record: unknown): FeedRecord {
  const [atMs, rows]: unknown[] = Array.isArray(record) ? record : [];
  if (typeof atMs === 'number' && Array.isArray(rows)) return { atMs, rows };
  throw new Error('the journal contains an invalid record of a feed');
}

/** Transitions that are not in the log of their account yet. */
export type Unrecorded = { readonly bytes: number; readonly ageMs: number };

/** Metrics of the calls that record transitions. */
export function recordMetrics(metrics: Metrics): OutboxMetrics {
  const recorded = metrics.histogram('transitions_recorded_seconds').labels({});
  const failures = metrics.counter('transitions_record_failures_total');
  failures.inc(0);
  return { sent: (seconds) => recorded.observe(seconds), failed: () => failures.inc() };
}

/** Shows the unrecorded transitions of an engine. `present` is called before every scrape. */
export function showUnrecorded(metrics: Metrics, present: () => Unrecorded | undefined): void {
  const seconds = metrics.gauge('transitions_unrecorded_seconds');
  const bytes = metrics.gauge('transitions_unrecorded_bytes');
  metrics.beforeScrape(() => {
    const { ageMs = 0, bytes: held = 0 } = present() ?? {};
    seconds.set(ageMs / 1_000);
    bytes.set(held);
  });
}
