import { isDeepStrictEqual } from 'node:util';
import type { AuditTrail } from '#audit/trail';
import type { EndpointChange, FeedView, LookFrom } from '#engine/feed/feed';
import { rowsIn, wantedIn } from '#engine/feed/pages';
import { attemptView, endpointView, failedView, PAUSE_NAMES } from '#engine/webhooks/answers';
import { type Attempt, AttemptLog, BodyMemory } from '#engine/webhooks/attempt-log';
import { changeOf, endpointIn } from '#engine/webhooks/changes';
import {
  answeredIn,
  COURIER_AWAY,
  EndpointLoop,
  type FeedRows,
  failureOf,
  type Message,
} from '#engine/webhooks/endpoint-loop';
import { Fault, faultFor, toFault } from '#errors/fault';
import type { CourierClient, CourierOutcome } from '#grpc/courier-messages';
import {
  type EngineAnswer,
  type EngineCall,
  plainAnswer,
  type WebhookCommand,
} from '#grpc/engine-messages';
import { type Clock, isoTime, sleep } from '#stdlib/clock';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import type { FeedStore } from '#storage/ports/feeds';
import type { Metrics } from '#telemetry/metrics';
import type { Endpoint, KeptEndpoint, PauseCause, Progress, WantedRow } from '#webhooks/endpoint';

/** Maximum number of feeds that are looked at together after a shard has opened. */
const LOOKS_IN_FLIGHT_MAX = 8;

/** Pause before a shard's endpoints are looked for again, in milliseconds. */
const RETRY_MS = 1_000;

/** Actions that change nothing. */
const READS: ReadonlySet<string> = new Set(['list', 'read', 'readDeliveries', 'test']);

/** Maximum duration of a test, in milliseconds. It ends before the call of the edge ends. */
const TEST_MS_MAX = 8_000;

/** Calls to the feed of an account, for the process that owns it. */
export type FeedCalls = {
  readonly look: (accountId: string, from: LookFrom, count: number) => Promise<FeedView>;
  readonly change: (
    accountId: string,
    callId: number,
    decide: (view: FeedView, nowMs: number) => EndpointChange | undefined,
  ) => Promise<FeedView>;
};

type DelivererPorts = {
  readonly clock: Clock;
  readonly store: FeedStore;
  readonly feeds: FeedCalls;
  /** Calls with the deadline and the trace of a call to the engine. */
  readonly feedsFor: (call: EngineCall) => FeedCalls;
  /** Undefined: nothing is delivered. */
  readonly courier: CourierClient | undefined;
  /** Trails that report paused endpoints to their accounts. Undefined: no line is written. */
  readonly trail: Pick<AuditTrail, 'around'> | undefined;
  readonly metrics: Metrics;
  readonly shardOf: (accountId: string) => number;
  /** Buckets of the accounts of a shard. */
  readonly bucketsOf: (shard: number) => readonly number[];
  /** Whether this process serves a shard and is not closing it. */
  readonly isServed: (shard: number) => boolean;
  readonly random: () => number;
  /** Whether all engines can read the records of endpoints. */
  readonly mayChange: () => boolean;
  readonly onBug: (error: unknown) => void;
};

/** An endpoint in this process. Its loop is undefined while the endpoint is paused. */
type Running = {
  readonly loop: EndpointLoop | undefined;
  readonly attempts: AttemptLog;
  /** Fulfils when no attempt of an earlier loop is under way. */
  readonly settled: Promise<void>;
};

/** Number of endpoints in each state. */
export type EndpointCounts = { active: number; failing: number; paused: number };

/**
 * Delivers the events of accounts to their webhook endpoints, in the process that owns the feed of
 * the account. Source: architecture 3.10.
 */
export class Deliverers {
  readonly #ports: DelivererPorts;
  /** Endpoints by account and id. */
  readonly #accounts = new Map<string, Map<string, Running>>();
  readonly #bodies = new BodyMemory();
  readonly #attempted;
  #hasEnded = false;

  constructor(ports: DelivererPorts) {
    this.#ports = ports;
    const attempts = ports.metrics.counter('webhook_attempts_total');
    const delivered = attempts.labels({ outcome: 'delivered' });
    const failed = attempts.labels({ outcome: 'failed' });
    for (const each of [delivered, failed]) each.inc(0);
    this.#attempted = (isDelivered: boolean) => (isDelivered ? delivered : failed).inc();
  }

  /** Makes the running endpoints of an account equal to the stored endpoints. */
  sync(accountId: string, endpoints: readonly KeptEndpoint[]): void {
    const { shardOf, isServed } = this.#ports;
    if (this.#hasEnded || !isServed(shardOf(accountId))) return;
    const before = this.#accounts.get(accountId);
    const after = new Map(
      endpoints.map((kept) => {
        const { id } = kept.endpoint;
        return [id, this.#synced(accountId, kept, before?.get(id))] as const;
      }),
    );
    for (const [id, running] of before ?? []) if (!after.has(id)) ended(running);
    if (after.size > 0) this.#accounts.set(accountId, after);
    else this.#accounts.delete(accountId);
  }

  /** Looks for new rows of an account. */
  wake(accountId: string): void {
    for (const { loop } of this.#accounts.get(accountId)?.values() ?? []) loop?.wake();
  }

  /** Starts the endpoints of a shard that this process has begun to serve. */
  async opened(shard: number): Promise<void> {
    const { clock, bucketsOf, isServed, courier } = this.#ports;
    if (courier === undefined) return;
    let left = bucketsOf(shard);
    while (left.length > 0 && !this.#hasEnded && isServed(shard)) {
      const failed: number[] = [];
      for (const bucket of left) {
        if (!(await this.#lookAll(bucket, shard))) failed.push(bucket);
      }
      left = failed;
      if (left.length > 0) await sleep(clock, RETRY_MS);
    }
  }

  /** Looks at the feeds with endpoints of a bucket. Returns false if a feed did not answer. */
  async #lookAll(bucket: number, shard: number): Promise<boolean> {
    const { store, feeds, isServed } = this.#ports;
    let haveAnswered = true;
    const unlessAway = (error: unknown): void => {
      const isAway = toFault(error).code === 'service_unavailable';
      if (isAway) haveAnswered = false;
      // A damaged feed must not keep other feeds waiting.
      else this.#ports.onBug(error);
    };
    try {
      const accounts = await store.withEndpoints(bucket);
      await forEachConcurrently(accounts, LOOKS_IN_FLIGHT_MAX, async (accountId) => {
        if (isServed(shard)) await feeds.look(accountId, 'newest', 0).catch(unlessAway);
      });
    } catch (error) {
      unlessAway(error);
    }
    return haveAnswered;
  }

  /** Ends the endpoints of a shard; undefined: of all shards, permanently. */
  left(shard: number | undefined): void {
    if (shard === undefined) this.#hasEnded = true;
    for (const [accountId, endpoints] of this.#accounts) {
      if (shard !== undefined && this.#ports.shardOf(accountId) !== shard) continue;
      for (const running of endpoints.values()) ended(running);
      this.#accounts.delete(accountId);
    }
  }

  /**
   * Answers a command about the endpoints of an account. Rejects with the faults of `changeOf`, and
   * with `upgrade_in_progress` for a change that not all engines could read.
   */
  async answer(call: EngineCall, command: WebhookCommand): Promise<EngineAnswer> {
    const { mayChange, feedsFor } = this.#ports;
    const { accountId, callId } = call;
    const { action, endpointId: id } = command;
    if (!READS.has(action) && !mayChange()) {
      throw faultFor(
        'upgrade_in_progress',
        'an engine of an earlier release runs; try again later',
      );
    }
    switch (action) {
      case 'create':
      case 'change':
      case 'remove': {
        const running = this.#running(accountId, id)?.loop?.progress;
        const decide = (view: FeedView, nowMs: number) => changeOf(command, view, nowMs, running);
        const view = await feedsFor(call).change(accountId, callId, decide);
        if (action === 'remove') return answerOf({ id, deleted: true });
        return answerOf(this.#viewOf(accountId, endpointIn(view.endpoints, id), view.next));
      }
      case 'list': {
        const { endpoints, next } = await feedsFor(call).look(accountId, 'newest', 0);
        return answerOf(endpoints.map((kept) => this.#viewOf(accountId, kept, next)));
      }
      default:
        return await this.#answerOfOne(call, command);
    }
  }

  /** An endpoint as in the API. `next`: position of the next row of the feed. */
  #viewOf(accountId: string, kept: KeptEndpoint, next: number) {
    return endpointView(this.#present(accountId, kept), next, this.#ports.clock.wallMs());
  }

  async #answerOfOne(call: EngineCall, command: WebhookCommand): Promise<EngineAnswer> {
    const { accountId } = call;
    const { action, endpointId: id, positions } = command;
    const { endpoints, next } = await this.#ports.feedsFor(call).look(accountId, 'newest', 0);
    const kept = this.#present(accountId, endpointIn(endpoints, id));
    switch (action) {
      case 'readDeliveries': {
        const attempts = this.#running(accountId, id)?.attempts.newestFirst() ?? [];
        return answerOf({
          attempts: attempts.map(attemptView),
          failed: kept.progress.failed.map(failedView).reverse(),
        });
      }
      case 'test':
        return answerOf(attemptView(await this.#test(accountId, kept.endpoint)));
      case 'redeliver':
        await this.#repeat(accountId, kept, positions);
        return answerOf({ changes: positions.length });
      default:
        return answerOf(this.#viewOf(accountId, kept, next));
    }
  }

  #running(accountId: string, id: string): Running | undefined {
    return this.#accounts.get(accountId)?.get(id);
  }

  /** The endpoint with its progress in memory, if it is running. */
  #present(accountId: string, kept: KeptEndpoint): KeptEndpoint {
    const { loop } = this.#running(accountId, kept.endpoint.id) ?? {};
    return loop === undefined ? kept : { ...kept, progress: loop.progress };
  }

  /** Sends a message without events, once. */
  async #test(accountId: string, endpoint: Endpoint): Promise<Attempt> {
    const { clock } = this.#ports;
    const atMs = clock.wallMs();
    const id = `${endpoint.id}-test${atMs}`;
    const body = JSON.stringify({ type: 'test', timestamp: isoTime(atMs), data: [] });
    const startMs = clock.monotonicMs();
    using late = lateAfter(clock, TEST_MS_MAX);
    const outcome = await Promise.race([
      this.#send(accountId, endpoint, { id, body }),
      late.outcome,
    ]);
    return {
      messageId: id,
      atMs,
      durationMs: Math.round(clock.monotonicMs() - startMs),
      events: 0,
      positions: [],
      failure: failureOf(outcome),
      ...answeredIn(body, outcome),
    };
  }

  /** Delivers changes once more. Refuses all of them if one is not in the log. */
  async #repeat(
    accountId: string,
    { endpoint }: KeptEndpoint,
    positions: readonly number[],
  ): Promise<void> {
    const rows: WantedRow[] = [];
    await forEachConcurrently(positions, LOOKS_IN_FLIGHT_MAX, async (seq) => {
      const { floor, rows: found } = await this.#read(accountId, seq, 1);
      const [row] = seq < floor ? [] : found;
      if (row === undefined) throw refusedPosition(`the log has no change ${seq}`);
      const events = wantedIn(row, endpoint.types);
      if (events === 0) throw refusedPosition(`the endpoint does not want change ${seq}`);
      rows.push({ seq, instanceId: row[0], events });
    });
    const { loop } = this.#running(accountId, endpoint.id) ?? {};
    if (loop === undefined) {
      const isPaused = endpoint.paused !== undefined;
      const why = isPaused
        ? 'the endpoint is paused; resume it first'
        : 'this engine has no courier';
      throw new Fault('conflict', why);
    }
    if (rows.length > loop.repeatsMax) {
      throw new Fault('conflict', 'too many changes wait for this endpoint; try again later');
    }
    await loop.repeat(rows);
  }

  async #send(accountId: string, endpoint: Endpoint, message: Message): Promise<CourierOutcome> {
    const { courier, clock } = this.#ports;
    if (courier === undefined) return COURIER_AWAY;
    const nowMs = clock.wallMs();
    const valid = endpoint.secrets.filter(
      ({ untilMs = Number.POSITIVE_INFINITY }) => nowMs < untilMs,
    );
    const sealedSecrets = valid.map(({ sealed }) => sealed);
    const { url, id: endpointId } = endpoint;
    const outcome = await courier
      .ask({ ...message, endpointId, url, sealedSecrets })
      .catch((error: unknown): CourierOutcome => {
        if (toFault(error).code === 'service_unavailable') return COURIER_AWAY;
        this.#ports.onBug(error);
        return { kind: 'failed', failure: 'not_sent' };
      });
    const { resealed } = outcome;
    if (resealed !== undefined) await this.#reseal(accountId, endpointId, sealedSecrets, resealed);
    this.#attempted(failureOf(outcome) === undefined);
    return outcome;
  }

  /** Stores secrets that were sealed again, so that a former secret of the cluster can be removed. */
  async #reseal(
    accountId: string,
    id: string,
    sealed: readonly string[],
    again: readonly string[],
  ) {
    const change = this.#change(accountId, id, (kept) => {
      const { endpoint, progress } = this.#present(accountId, kept);
      const secrets = endpoint.secrets.map((secret) => {
        return { ...secret, sealed: again[sealed.indexOf(secret.sealed)] ?? secret.sealed };
      });
      // Another message under way may have changed them already.
      if (isDeepStrictEqual(secrets, endpoint.secrets)) return undefined;
      return { kind: 'put', endpoint: { ...endpoint, secrets }, progress };
    });
    // The next message tries again.
    await change.catch(() => undefined);
  }

  /** Pauses an endpoint between two lines of the audit trail. The service is the actor. */
  async #audited(accountId: string, id: string, cause: PauseCause, pause: () => Promise<void>) {
    const { trail } = this.#ports;
    const entry = { actor: { kind: 'service' }, action: 'webhook.pause', target: id } as const;
    const shown = () => ({ after: { paused: PAUSE_NAMES[cause] } });
    await (trail === undefined ? pause() : trail.around(accountId, entry, pause, shown));
  }

  /** Changes an endpoint durably, unless it was removed. */
  async #change(
    accountId: string,
    id: string,
    decide: (kept: KeptEndpoint) => EndpointChange | undefined,
  ): Promise<void> {
    await this.#ports.feeds.change(accountId, 0, ({ endpoints }) => {
      const kept = endpoints.find((each) => each.endpoint.id === id);
      return kept && decide(kept);
    });
  }

  /** The endpoint as it runs after a change. A running loop goes on with the changed settings. */
  #synced(accountId: string, kept: KeptEndpoint, before: Running | undefined): Running {
    const attempts = before?.attempts ?? new AttemptLog(this.#bodies);
    const settled = before?.settled ?? Promise.resolve();
    if (kept.endpoint.paused !== undefined || this.#ports.courier === undefined) {
      const ended = before?.loop?.end() ?? settled;
      return { loop: undefined, attempts, settled: ended };
    }
    if (before?.loop !== undefined) {
      before.loop.update(kept.endpoint);
      return before;
    }
    const loop = this.#newLoop(accountId, kept, attempts);
    // The loop reads the feed, so it must not run within a turn of the feed.
    void settled.then(() => loop.run());
    return { loop, attempts, settled };
  }

  #newLoop(accountId: string, { endpoint, progress }: KeptEndpoint, attempts: AttemptLog) {
    const { clock, random, onBug } = this.#ports;
    const { id } = endpoint;
    const change = (decide: (kept: KeptEndpoint) => EndpointChange) =>
      this.#change(accountId, id, decide);
    const ports = {
      clock,
      random,
      read: (from: number, count: number) => this.#read(accountId, from, count),
      onBug,
      send: (message: Message) => this.#send(accountId, loop.endpoint, message),
      save: (present: Progress) => change(() => ({ kind: 'progressed', id, progress: present })),
      pause: (paused: PauseCause, present: Progress) =>
        this.#audited(accountId, id, paused, () =>
          change((kept) => {
            return { kind: 'put', endpoint: { ...kept.endpoint, paused }, progress: present };
          }),
        ),
    };
    const loop: EndpointLoop = new EndpointLoop(endpoint, progress, ports, attempts);
    return loop;
  }

  /** Rows from a position on, from memory or from stored chunks. */
  async #read(accountId: string, from: number, count: number): Promise<FeedRows> {
    const { feeds, store } = this.#ports;
    const look = (position: LookFrom, rows: number) => feeds.look(accountId, position, rows);
    const view = await look(from, count);
    const { floor } = view;
    if (from < floor) return { floor, rows: [] };
    const rows = await rowsIn(view, { accountId, store, look }, count);
    return { floor, rows: rows.slice(0, count) };
  }

  /** Number of endpoints in each state, for metrics. */
  get counts(): EndpointCounts {
    const counts = { active: 0, failing: 0, paused: 0 };
    for (const endpoints of this.#accounts.values()) {
      for (const { loop } of endpoints.values()) {
        if (loop === undefined) counts.paused += 1;
        else if (loop.isFailing) counts.failing += 1;
        else counts.active += 1;
      }
    }
    return counts;
  }
}

/** Ends the deliveries to an endpoint, and frees the memory of its attempts. */
function ended({ loop, attempts }: Running): void {
  void loop?.end();
  attempts[Symbol.dispose]();
}

function refusedPosition(why: string): Fault {
  return new Fault('not_found', `positions: ${why}`, { field: 'positions' });
}

/** Shows the endpoints of an engine. `present` is called before every scrape. */
export function showEndpoints(metrics: Metrics, present: () => EndpointCounts | undefined): void {
  const endpoints = metrics.gauge('webhook_endpoints');
  metrics.beforeScrape(() => {
    const counts = present() ?? { active: 0, failing: 0, paused: 0 };
    for (const [state, count] of Object.entries(counts)) endpoints.labels({ state }).set(count);
  });
}

/** Outcome of a test that takes too long. */
function lateAfter(clock: Clock, ms: number) {
  const { promise, resolve } = Promise.withResolvers<CourierOutcome>();
  const timer = clock.after(ms, () => resolve({ kind: 'failed', failure: 'timeout' }));
  return { outcome: promise, [Symbol.dispose]: () => timer[Symbol.dispose]() };
}

function answerOf(data: object): EngineAnswer {
  return plainAnswer(JSON.stringify({ data }));
}
