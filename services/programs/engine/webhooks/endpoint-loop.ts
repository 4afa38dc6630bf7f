import { crc32 } from 'node:zlib';
import { eventsOf, wantedIn } from '#engine/feed/pages';
import { type AttemptLog, attemptBodies } from '#engine/webhooks/attempt-log';
import { type AttemptResult, type Batch, Deliveries } from '#engine/webhooks/deliveries';
import { toFault } from '#errors/fault';
import type { CourierOutcome } from '#grpc/courier-messages';
import { type Clock, isoTime } from '#stdlib/clock';
import type { FeedRow } from '#storage/ports/feeds';
import type { Endpoint, PauseCause, Progress, WantedRow } from '#webhooks/endpoint';
import { retryAfterS } from '#webhooks/retry-schedule';

/** Rows that are read from the feed at once, and reads before anything else is done. */
const ROWS_READ = 256;
const READS_MAX = 8;

/** Time between two commits of the progress, in milliseconds. A crash repeats messages of it. */
const SAVE_MS = 1_000;

/** Maximum time until the feed is looked at again, in milliseconds, if no news of it arrived. */
const LOOK_MS = 60_000;

/** Pause after the feed or the actor did not answer, in milliseconds. */
const AWAY_MS = 1_000;

/** Pause after no courier answered, in milliseconds. */
const COURIER_AWAY_MS = 5_000;

/** Outcome of a message that no courier took. */
export const COURIER_AWAY = { kind: 'failed', failure: 'courier_away' } as const;

/** A message to an endpoint. Its id is the same in every attempt. */
export type Message = { readonly id: string; readonly body: string };

/** Rows of the feed from a position on. */
export type FeedRows = {
  /** Position of the first available row. */
  readonly floor: number;
  readonly rows: readonly FeedRow[];
};

/** Dependencies of a loop. */
export type EndpointPorts = {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly read: (from: number, count: number) => Promise<FeedRows>;
  /** Sends a message once. Never rejects. */
  readonly send: (message: Message) => Promise<CourierOutcome>;
  /** Makes the progress durable. Rejects when this process no longer owns the account. */
  readonly save: (progress: Progress) => Promise<void>;
  /** Pauses the endpoint durably, which also ends its loop. */
  readonly pause: (cause: PauseCause, progress: Progress) => Promise<void>;
  readonly onBug: (error: unknown) => void;
};

/**
 * Delivers the events of an account to one endpoint, from the owner of the account's feed. The feed
 * is the queue: the endpoint is a position in it, and a few rows that wait for another attempt.
 */
export class EndpointLoop {
  #endpoint: Endpoint;
  readonly #ports: EndpointPorts;
  readonly #deliveries: Deliveries;
  /** Rows that are not delivered yet, by position. Held rows may be missing after a start. */
  readonly #rows = new Map<number, FeedRow>();
  readonly #attempts: AttemptLog;
  #savedMs: number;
  #isDirty = false;
  #hasEnded = false;
  #isPausing = false;
  /** Attempts under way. */
  readonly #underWay = new Set<Promise<void>>();
  #wake: () => void = () => undefined;

  /** `attempts`: log of the endpoint, which former loops began. */
  constructor(endpoint: Endpoint, progress: Progress, ports: EndpointPorts, attempts: AttemptLog) {
    this.#endpoint = endpoint;
    this.#attempts = attempts;
    this.#ports = ports;
    this.#deliveries = new Deliveries(progress, endpoint.rowsMax, ports.random);
    this.#savedMs = ports.clock.monotonicMs();
  }

  /** Progress at present, which may not be durable yet. */
  get progress(): Progress {
    return this.#deliveries.progress;
  }

  /** Settings at present. */
  get endpoint(): Endpoint {
    return this.#endpoint;
  }

  /** Whether no attempt has succeeded since a failure. */
  get isFailing(): boolean {
    return this.#deliveries.isFailing;
  }

  /** Number of further rows that `repeat` may get. */
  get repeatsMax(): number {
    return this.#deliveries.repeatsMax;
  }

  /** Takes over changed settings. */
  update(endpoint: Endpoint): void {
    this.#endpoint = endpoint;
    this.#deliveries.rowsMax = endpoint.rowsMax;
  }

  /** Delivers rows once more. Fulfils when the request is durable. */
  async repeat(rows: readonly WantedRow[]): Promise<void> {
    for (const row of rows) this.#deliveries.repeat(row);
    await this.#saveNow();
    this.#wake();
  }

  /** Looks at the feed again. */
  wake(): void {
    this.#wake();
  }

  /**
   * Begins no further attempt, and makes the progress durable if this process still owns the feed.
   * The outcome of an attempt under way is ignored. Fulfils when no attempt is under way.
   */
  async end(): Promise<void> {
    if (!this.#hasEnded) {
      this.#hasEnded = true;
      this.#wake();
      if (this.#isDirty) this.#saveNow().catch(() => undefined);
    }
    await Promise.allSettled(this.#underWay);
  }

  /** Delivers until `end`, or until the endpoint is paused. */
  async run(): Promise<void> {
    const { clock } = this.#ports;
    while (!this.#hasEnded) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      const wakeInMs = await this.#step();
      using _timer = clock.after(wakeInMs, () => this.#wake());
      await woken;
    }
  }

  /** Takes rows, begins attempts, and saves. Returns the time until the next step. */
  async #step(): Promise<number> {
    const { clock } = this.#ports;
    try {
      const hasMore = await this.#take();
      this.#sendAll();
      await this.#save();
      if (hasMore && this.#deliveries.hasRoom) return 0;
    } catch (error) {
      this.#reportUnlessAway(error);
      return AWAY_MS;
    }
    const dueInMs = Math.max(1, this.#deliveries.dueMs - clock.wallMs());
    return Math.min(dueInMs, this.#savesInMs, LOOK_MS);
  }

  #reportUnlessAway(error: unknown): void {
    if (toFault(error).code !== 'service_unavailable') this.#ports.onBug(error);
  }

  /** Time until the progress must be saved, in milliseconds. */
  get #savesInMs(): number {
    if (!this.#isDirty) return Number.POSITIVE_INFINITY;
    return Math.max(1, this.#savedMs + SAVE_MS - this.#ports.clock.monotonicMs());
  }

  /**
   * Takes new rows while there is room. Always reads the feed, because a process that no longer owns
   * the feed must not send. Returns whether there may be more rows.
   */
  async #take(): Promise<boolean> {
    const deliveries = this.#deliveries;
    for (let reads = 0; reads < READS_MAX; reads += 1) {
      const { floor, rows } = await this.#ports.read(deliveries.taken, ROWS_READ);
      if (this.#hasEnded) return false;
      if (deliveries.taken < floor) {
        deliveries.miss(floor);
        this.#isDirty = true;
      } else if (rows.length === 0 || !this.#takeAll(rows)) return false;
    }
    return true;
  }

  /** Takes the wanted rows among these. Returns whether all were taken or skipped. */
  #takeAll(rows: readonly FeedRow[]): boolean {
    const deliveries = this.#deliveries;
    const { types } = this.#endpoint;
    const nowMs = this.#ports.clock.wallMs();
    for (const row of rows) {
      if (!deliveries.hasRoom) return false;
      const seq = deliveries.taken;
      this.#isDirty = true;
      const events = wantedIn(row, types);
      if (events === 0) {
        deliveries.skipTo(seq + 1);
      } else {
        this.#rows.set(seq, row);
        deliveries.take({ seq, instanceId: row[0], events }, nowMs);
      }
    }
    this.#forgetEnded();
    return true;
  }

  /** Drops the rows from memory that were delivered or given up. */
  #forgetEnded(): void {
    for (const seq of this.#deliveries.takeEnded()) this.#rows.delete(seq);
  }

  /** Begins all attempts that are allowed now. */
  #sendAll(): void {
    const { clock } = this.#ports;
    for (;;) {
      const batch = this.#hasEnded ? undefined : this.#deliveries.next(clock.wallMs());
      if (batch === undefined) return;
      const attempt = this.#attemptSafely(batch);
      this.#underWay.add(attempt);
      void attempt.then(() => {
        this.#underWay.delete(attempt);
        this.#wake();
      });
    }
  }

  /** Never rejects. An attempt that fails by a bug counts as a failure of the message. */
  async #attemptSafely(batch: Batch): Promise<void> {
    try {
      await this.#attempt(batch);
    } catch (error) {
      this.#ports.onBug(error);
      const failed = { isDelivered: false, cause: 'internal', askedS: 0 } as const;
      this.#deliveries.end(batch, failed, this.#ports.clock.wallMs());
    }
    this.#isDirty = true;
    this.#forgetEnded();
  }

  async #attempt(batch: Batch): Promise<void> {
    const { clock, send } = this.#ports;
    const nowMs = clock.wallMs();
    const { rows, floor } = await this.#rowsOf(batch).catch((error: unknown) => {
      this.#reportUnlessAway(error);
      return { rows: undefined, floor: 0 };
    });
    if (rows === undefined || this.#hasEnded)
      return this.#deliveries.postpone(batch, nowMs + AWAY_MS);
    if (rows.length < batch.rows.length) return this.#deliveries.expire(batch, floor, nowMs);
    const message = this.#messageOf(batch, rows);
    // The wanted types may have changed since the rows were taken.
    if (message === undefined) return this.#deliveries.end(batch, { isDelivered: true }, nowMs);
    const startMs = clock.monotonicMs();
    const outcome = await send(message);
    if (this.#hasEnded) return;
    const result = resultOf(outcome, clock.wallMs());
    if (isAway(outcome)) this.#deliveries.postpone(batch, clock.wallMs() + COURIER_AWAY_MS);
    else this.#deliveries.end(batch, result, clock.wallMs());
    this.#attempts.add({
      messageId: message.id,
      atMs: nowMs,
      durationMs: Math.round(clock.monotonicMs() - startMs),
      events: message.events,
      positions: batch.rows.map(({ seq }) => seq),
      failure: result.isDelivered ? undefined : result.cause,
      ...answeredIn(message.body, outcome),
    });
    await this.#pauseIfHopeless(outcome);
  }

  async #pauseIfHopeless(outcome: CourierOutcome): Promise<void> {
    const { pause, clock } = this.#ports;
    const isRemoved = outcome.kind === 'answered' && outcome.status === GONE;
    if (!isRemoved && !this.#deliveries.isGivenUp(clock.wallMs())) return;
    if (this.#isPausing) return;
    this.#isPausing = true;
    // After a failure, the next attempt tries again.
    await pause(isRemoved ? 'removed' : 'failing', this.progress).catch(() => undefined);
    this.#isPausing = false;
  }

  /**
   * Rows of a batch, from memory or from the feed. If some are no longer kept, fewer rows, and the
   * position of the first available row.
   */
  async #rowsOf(batch: Batch): Promise<{ rows: FeedRow[]; floor: number }> {
    const rows: FeedRow[] = [];
    let first = 0;
    for (const { seq } of batch.rows) {
      const known = this.#rows.get(seq);
      const read = known === undefined ? await this.#ports.read(seq, 1) : undefined;
      const { floor = 0, rows: found = [] } = read ?? {};
      first = Math.max(first, floor);
      const row = known ?? (seq < floor ? undefined : found[0]);
      if (row !== undefined) rows.push(row);
    }
    return { rows, floor: first };
  }

  /** Message with the events of a batch; undefined if no event is wanted. */
  #messageOf({ rows, followsGap }: Batch, found: readonly FeedRow[]) {
    const { id, types } = this.#endpoint;
    const data = found.flatMap((row) => eventsOf(row, types));
    if (data.length === 0) return undefined;
    const body = JSON.stringify({
      type: 'events',
      timestamp: isoTime(found.at(-1)?.[2] ?? 0),
      ...(followsGap ? { follows_gap: true } : {}),
      data,
    });
    return { id: `${id}-${nameOf(rows)}`, body, events: data.length };
  }

  /** Makes the progress durable, at most once a second. */
  async #save(): Promise<void> {
    const { clock } = this.#ports;
    if (!this.#isDirty || this.#hasEnded || clock.monotonicMs() < this.#savedMs + SAVE_MS) return;
    await this.#saveNow();
  }

  async #saveNow(): Promise<void> {
    const { clock, save } = this.#ports;
    this.#isDirty = false;
    try {
      await save(this.#deliveries.progress);
      this.#savedMs = clock.monotonicMs();
    } catch (error) {
      this.#isDirty = true;
      throw error;
    }
  }
}

/** Name of rows in the id of a message: the position of one row, or first, last and a digest. */
function nameOf(rows: readonly WantedRow[]): string {
  const seqs = rows.map(({ seq }) => seq);
  if (seqs.length === 1) return `${seqs[0]}`;
  return `${seqs[0]}-${seqs.at(-1)}-${crc32(seqs.join()).toString(16)}`;
}

/** Status with which an endpoint asks for no further message. */
const GONE = 410;

/** Failures for which the endpoint is not at fault. */
const AWAY: ReadonlySet<string> = new Set([COURIER_AWAY.failure, 'secret_unreadable']);

function isAway(outcome: CourierOutcome): boolean {
  return outcome.kind === 'failed' && AWAY.has(outcome.failure);
}

/** Why an attempt failed: `status 500`, or a cause without an answer. Undefined: delivered. */
export function failureOf(outcome: CourierOutcome): string | undefined {
  if (outcome.kind === 'failed') return outcome.failure;
  const { status } = outcome;
  return status >= 200 && status < 300 ? undefined : `status ${status}`;
}

/** Status and bodies of an attempt. `body`: body of the request. */
export function answeredIn(body: string, outcome: CourierOutcome) {
  if (outcome.kind === 'failed') {
    return { status: undefined, bodies: attemptBodies(body, undefined) };
  }
  const { status, shown } = outcome;
  return { status, bodies: attemptBodies(body, shown) };
}

function resultOf(outcome: CourierOutcome, nowMs: number): AttemptResult {
  const cause = failureOf(outcome);
  if (cause === undefined) return { isDelivered: true };
  const retryAfter = outcome.kind === 'answered' ? outcome.retryAfter : undefined;
  return { isDelivered: false, cause, askedS: retryAfterS(retryAfter, nowMs) };
}
