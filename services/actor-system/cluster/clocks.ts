import type { Bus, Sender } from '#bus/bus';
import { heartbeatSubject } from '#cluster/heartbeat';
import {
  type Clock,
  type ClockAgreement,
  type ClockVerdict,
  every,
  isNear,
  judgeClock,
  OTHERS_MIN,
} from '#stdlib/clock';
import type { ServerClocks } from '#storage/ports/cluster';
import type { Logger } from '#telemetry/logger';

/** Options of a clock watch. */
type ClockWatchOptions = {
  readonly bus: Bus;
  readonly clock: Clock;
  /** Prefix of all subjects. */
  readonly prefix: string;
  /**
   * Clocks of the database servers, queried while fewer than two other processes are heard.
   * Undefined if only this process keeps the data.
   */
  readonly serverClocks?: ServerClocks | undefined;
  /**
   * Logs one line when this process's clock is found wrong, and another line when the clock is
   * right again.
   */
  readonly logger: Logger;
};

/** Maximum age of another process's clock reading, in milliseconds: five heartbeats. */
const HEARD_MS_MAX = 5_000;

/**
 * Time for which the clock must deviate before this process hands its shards off, in milliseconds.
 * Equals the time for which the views of two nodes must agree before a shard moves between them.
 * Source: decision 138.
 */
const DEVIATING_MS = 3_000;

/** Period of comparing clocks, in milliseconds: the heartbeat period. */
const LOOK_MS = 1_000;

/**
 * Time since the last clock comparison, in milliseconds, after which this process is treated as
 * paused.
 */
const STALL_MS = 5_000;

/**
 * Time after a pause during which heartbeats are not evaluated, in milliseconds. Heartbeats that
 * waited in a queue carry outdated times.
 */
const DEAF_MS = 2_000;

/**
 * Maximum number of processes whose clocks are compared. Enough for 500 processes and for the
 * incarnations that ended in recent restarts.
 */
const CLOCKS_MAX = 4_096;

/**
 * Clock reading of another process: its wall clock minus this process's monotonic clock, and the
 * monotonic time of receipt.
 */
type Shown = { readonly aheadMs: number; readonly heardMs: number };

/**
 * Compares this process's wall clock with the clocks of all engines and limiters. Their heartbeats
 * carry the time of sending.
 *
 * If fewer than two other processes are heard, for example on a bus that does not authenticate
 * senders, the clocks of the database servers can confirm this clock. Database servers alone never
 * prove a clock wrong.
 *
 * A clock that was found wrong stays wrong until it agrees with other processes, with the last time
 * that other processes sent, or, while fewer than two other processes are heard, with the database
 * servers. The silence or restart of other processes alone does not change the verdict.
 */
export class ClockWatch implements Disposable {
  readonly #options: ClockWatchOptions;
  readonly #known = new ShownClocks();
  /**
   * Senders whose messages the bus dropped because of their clocks. If this process started with a
   * wrong clock, all senders are in this set.
   */
  readonly #strangers = new ShownClocks();
  readonly #servers: ServerAgreement | undefined;
  readonly #opened = new DisposableStack();
  #deviatingSinceMs: number | undefined;
  /**
   * Wall time of the other clocks minus this process's monotonic clock, when this process's wall
   * clock was last found wrong. Undefined while the clock is right.
   */
  #rightMs: number | undefined;
  #hasAgreed = false;
  #awakeMs: number;
  #deafUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: ClockWatchOptions) {
    this.#options = options;
    const { bus, clock, prefix, serverClocks } = options;
    this.#servers = serverClocks && new ServerAgreement(serverClocks, clock);
    this.#servers?.ask();
    this.#awakeMs = clock.monotonicMs();
    this.#opened.use(every(clock, LOOK_MS, () => this.#look()));
    for (const service of ['engine', 'limiter'] as const) {
      const hear = (_: Uint8Array, sender?: Sender): void => this.#hear(sender);
      const onStranger = (sender: Sender): void => this.#hearStranger(sender);
      this.#opened.use(bus.subscribe(heartbeatSubject(prefix, service), hear, onStranger));
    }
  }

  /** Verdict on this process's wall clock, and how far the clock is ahead of the others. */
  get agreement(): ClockAgreement {
    const { clock } = this.#options;
    const own = clock.wallMs() - clock.monotonicMs();
    const others = this.#others();
    const judged = judgeClock({ own, others });
    const isAgreed = judged.verdict === 'unsure' && this.#hasServersWith(own, others);
    return this.#judged(own, isAgreed ? { ...judged, verdict: 'agreed' } : judged);
  }

  get verdict(): ClockVerdict {
    return this.agreement.verdict;
  }

  /**
   * Whether the clock has been wrong for so long that this process should serve nothing. True
   * immediately if the clock was wrong from the start.
   */
  get isAside(): boolean {
    const sinceMs = this.#deviatingSinceMs;
    if (sinceMs === undefined) return false;
    return !this.#hasAgreed || this.#options.clock.monotonicMs() - sinceMs >= DEVIATING_MS;
  }

  [Symbol.dispose](): void {
    this.#opened.dispose();
  }

  /**
   * Whether the clocks of the database servers confirm this clock. Their confirmation is used only
   * while fewer than two other processes are heard and no heard process contradicts this clock. Two
   * or more heard processes decide alone (decision 138).
   */
  #hasServersWith(own: number, others: readonly number[]): boolean {
    if (others.length >= OTHERS_MIN || this.#servers?.agreesWith(own) !== true) return false;
    return others.every((other) => isNear(own, other));
  }

  /** Recent clock readings of other processes, minus this process's monotonic clock. */
  #others(): number[] {
    const sinceMs = this.#options.clock.monotonicMs() - HEARD_MS_MAX;
    const known = this.#known.since(sinceMs);
    // A replayed message must not outvote senders whose messages the bus accepts.
    return known.length >= OTHERS_MIN ? known : [...known, ...this.#strangers.since(sinceMs)];
  }

  /**
   * Adjusts a verdict by history: after `deviating`, an `unsure` clock stays `deviating` until the
   * clock is near the last known right time.
   */
  #judged(own: number, judged: ClockAgreement): ClockAgreement {
    if (judged.verdict === 'deviating') {
      this.#rightMs = own - judged.aheadMs;
      return judged;
    }
    if (judged.verdict === 'unsure' && this.#rightMs !== undefined) {
      if (!isNear(own, this.#rightMs)) {
        return { verdict: 'deviating', aheadMs: own - this.#rightMs };
      }
    }
    this.#rightMs = undefined;
    if (judged.verdict === 'agreed') this.#hasAgreed = true;
    return judged;
  }

  #hear(sender: Sender | undefined): void {
    const { bus, clock } = this.#options;
    if (sender === undefined || sender.incarnation === bus.incarnation || this.#isDeaf()) return;
    this.#strangers.forget(sender);
    this.#known.note(sender, clock.monotonicMs());
  }

  #hearStranger(sender: Sender): void {
    if (!this.#isDeaf()) this.#strangers.note(sender, this.#options.clock.monotonicMs());
  }

  /** Whether messages that arrive now may have been queued while this process was paused. */
  #isDeaf(): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#awakeMs >= STALL_MS) {
      this.#awakeMs = nowMs;
      this.#deafUntilMs = nowMs + DEAF_MS;
    }
    return nowMs < this.#deafUntilMs;
  }

  /** Records since when the clock has been wrong, and logs each change. */
  #look(): void {
    const { clock, logger } = this.#options;
    this.#isDeaf();
    this.#awakeMs = clock.monotonicMs();
    if (this.#others().length < OTHERS_MIN) this.#servers?.ask();
    const { verdict, aheadMs } = this.agreement;
    const isDeviating = verdict === 'deviating';
    if (isDeviating === (this.#deviatingSinceMs !== undefined)) return;
    this.#deviatingSinceMs = isDeviating ? clock.monotonicMs() : undefined;
    if (!isDeviating) {
      logger.info(
        'the wall clock of this process agrees with the other nodes again: normal service resumes',
      );
      return;
    }
    logger.error(
      { aheadSeconds: Math.round(aheadMs / 1_000) },
      'the wall clock of this process differs from the other nodes: until the clock is corrected, this process starts no new usage month, claims no shard and hands off its shards',
    );
  }
}

/** Recent clock readings of other processes, by incarnation. */
class ShownClocks {
  /** In insertion order, which is the order of the last heartbeat. */
  readonly #shown = new Map<string, Shown>();

  note({ incarnation, sentAtMs }: Sender, heardMs: number): void {
    this.#shown.delete(incarnation);
    this.#shown.set(incarnation, { aheadMs: sentAtMs - heardMs, heardMs });
    for (const [other, shown] of this.#shown) {
      const isOld = heardMs - shown.heardMs >= HEARD_MS_MAX;
      if (!isOld && this.#shown.size <= CLOCKS_MAX) break;
      this.#shown.delete(other);
    }
  }

  forget({ incarnation }: Sender): void {
    this.#shown.delete(incarnation);
  }

  /** Offsets received later than `heardMs` (monotonic). */
  since(heardMs: number): number[] {
    const recent = [...this.#shown.values()].filter((shown) => shown.heardMs > heardMs);
    return recent.map(({ aheadMs }) => aheadMs);
  }
}

/** Minimum pause between two requests for the servers' time, in milliseconds. */
const ASK_PERIOD_MS = 10_000;

/**
 * Lifetime of the servers' answer, in milliseconds. Two failed requests do not discard the answer.
 */
const ANSWER_MS_MAX = 30_000;

/** Maximum duration of a request, in milliseconds. A slower answer is discarded as outdated. */
const ASKING_MS_MAX = 10_000;

/**
 * Clock readings of the servers, each minus this process's monotonic clock, and the monotonic time
 * of receipt.
 */
type Answer = { readonly aheadMs: readonly number[]; readonly atMs: number };

/** Comparison of this process's clock with the clocks of the database servers (decision 138). */
class ServerAgreement {
  readonly #servers: ServerClocks;
  readonly #clock: Clock;
  #answer: Answer | undefined;
  #askedMs = Number.NEGATIVE_INFINITY;

  constructor(servers: ServerClocks, clock: Clock) {
    this.#servers = servers;
    this.#clock = clock;
  }

  /** Queries the servers again, unless the last query began less than 10 s ago. */
  ask(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#askedMs < ASK_PERIOD_MS) return;
    this.#askedMs = nowMs;
    this.#servers.read().then(
      (shown) => this.#note(shown, nowMs),
      () => undefined,
    );
  }

  /** Whether most servers agree with a wall clock that is `ownMs` ahead of the monotonic clock. */
  agreesWith(ownMs: number): boolean {
    if (this.#answer === undefined) return false;
    const { aheadMs, atMs } = this.#answer;
    if (this.#clock.monotonicMs() - atMs > ANSWER_MS_MAX) return false;
    const near = aheadMs.filter((other) => isNear(ownMs, other));
    return near.length * 2 > aheadMs.length;
  }

  #note(shown: readonly number[], askedMs: number): void {
    const atMs = this.#clock.monotonicMs();
    if (atMs - askedMs > ASKING_MS_MAX) return;
    this.#answer = { aheadMs: shown.map((wallMs) => wallMs - atMs), atMs };
  }
}
