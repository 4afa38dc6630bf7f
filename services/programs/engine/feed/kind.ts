import type { ActorCall, ActorKind, LoadedActor } from '#actor-runtime/actor-kind';
import type { Applied, Checkpoint, EventSourcing } from '#actor-runtime/event-sourcing';
import type { OutboxMetrics } from '#actor-runtime/outbox';
import type { SideEffect, Turn } from '#actor-runtime/turn';
import type { EventWaiters } from '#engine/events/pages';
import {
  type EndpointChange,
  Feed,
  type FeedRecord,
  type FeedView,
  heldRows,
  type LookFrom,
} from '#engine/feed/feed';
import type { FeedCheckpoint, FeedRow, FeedStore } from '#storage/ports/feeds';
import type { Metrics } from '#telemetry/metrics';
import { type KeptEndpoint, keptFromJson, progressFromJson } from '#webhooks/endpoint';

/** Command to an account's feed. */
type FeedCommand =
  | { readonly kind: 'record'; readonly rows: readonly FeedRow[] }
  /** Looks at the feed from a position on, at most at `count` rows in memory. */
  | { readonly kind: 'look'; readonly from: LookFrom; readonly count: number }
  /**
   * Changes an endpoint. `decide` returns the change, or undefined if there is nothing to change.
   * It may throw a Fault.
   */
  | {
      readonly kind: 'changeEndpoint';
      readonly decide: (view: FeedView, nowMs: number) => EndpointChange | undefined;
    };

/** A command as actor call. */
export type FeedCall = ActorCall & FeedCommand & { readonly accountId: string };

/** Estimated size of a row in a record, in bytes. */
const ROW_BYTES = 80;

/** Estimated size of a changed endpoint in a record, in bytes, without its held rows. */
const ENDPOINT_BYTES = 1_024;

/** Estimated size of a held or failed row in a record, in bytes. */
const HELD_BYTES = 64;

/** Rows in memory above which a feed is stored soon. */
const ROWS_HELD_URGENT = 16_384;

type FeedPorts = {
  readonly store: FeedStore;
  /** Calls that wait for rows. */
  readonly waiters: Pick<EventWaiters, 'changed'>;
  readonly deliverers: FeedListener;
};

/** Reader of feeds with webhook endpoints. */
interface FeedListener {
  /** A feed is in memory and has these endpoints. */
  sync(accountId: string, endpoints: readonly KeptEndpoint[]): void;
  /** A feed has new rows. */
  wake(accountId: string): void;
}

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
    const { deliverers } = this.#ports;
    const { accountId } = call;
    switch (call.kind) {
      case 'look':
        if (feed.endpoints.length > 0) deliverers.sync(accountId, feed.endpoints);
        return feed.view(call.from, call.count, turn.wallMs);
      case 'record':
        this.#record(feed, accountId, call.rows, turn);
        break;
      case 'changeEndpoint':
        this.#change(feed, accountId, call.decide, turn);
    }
    return feed.view(0, 0, turn.wallMs);
  }

  #record(feed: Feed, accountId: string, sent: readonly FeedRow[], turn: Turn<FeedRecord>): void {
    const { deliverers, waiters } = this.#ports;
    if (feed.endpoints.length > 0) deliverers.sync(accountId, feed.endpoints);
    const rows = feed.newIn(sent);
    if (rows.length === 0) return;
    turn.commit({ atMs: turn.wallMs, rows });
    waiters.changed(accountId);
    deliverers.wake(accountId);
  }

  #change(
    feed: Feed,
    accountId: string,
    decide: (view: FeedView, nowMs: number) => EndpointChange | undefined,
    turn: Turn<FeedRecord>,
  ): void {
    // The change of a repeated call is committed already.
    const change =
      turn.earlierVersion === undefined
        ? decide(feed.view('newest', 0, turn.wallMs), turn.wallMs)
        : undefined;
    if (change !== undefined) turn.commit({ atMs: turn.wallMs, rows: [], change });
    if (change?.kind === 'progressed') return;
    const { store, deliverers } = this.#ports;
    turn.beforeAnswer(async () => {
      if (feed.endpoints.length > 0) await store.listEndpoints(accountId);
      deliverers.sync(accountId, feed.endpoints);
    });
  }

  apply(feed: Feed, record: FeedRecord, version: number): Applied<Feed> {
    feed.take(record, version);
    return { state: feed, answer: undefined };
  }

  effectAfterReplay(
    accountId: string,
    { endpoints }: Feed,
    events: readonly FeedRecord[],
  ): SideEffect | undefined {
    if (endpoints.length === 0 || !events.some(({ change }) => change?.kind === 'put')) return;
    return () => this.#ports.store.listEndpoints(accountId);
  }

  recordOf({ atMs, rows, change }: FeedRecord): unknown {
    return change === undefined ? [atMs, rows] : [atMs, rows, change];
  }

  read(record: unknown): FeedRecord {
    return feedRecordOf(record);
  }

  sizeOfRecord({ rows, change }: FeedRecord): number {
    const size = rows.reduce((sum, [, , , { length }]) => sum + ROW_BYTES * length, ROW_BYTES);
    return change === undefined ? size : size + sizeOfChange(change);
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
  const [atMs, rows, change]: unknown[] = Array.isArray(record) ? record : [];
  if (typeof atMs === 'number' && Array.isArray(rows)) {
    return change === undefined ? { atMs, rows } : { atMs, rows, change: changeFrom(change) };
  }
  throw new Error('the journal contains an invalid record of a feed');
}

/** Change from JSON, which leaves out undefined fields. Throws an Error for an unknown change. */
function changeFrom(json: unknown): EndpointChange {
  const change = json as EndpointChange;
  switch (change.kind) {
    case 'put':
      return { ...change, ...keptFromJson(change) };
    case 'progressed':
      return { ...change, progress: progressFromJson(change.progress) };
    case 'removed':
      return change;
    default:
      throw new Error('the journal contains an unknown change of an endpoint');
  }
}

function sizeOfChange(change: EndpointChange): number {
  return ENDPOINT_BYTES + (change.kind === 'removed' ? 0 : HELD_BYTES * heldRows(change.progress));
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
