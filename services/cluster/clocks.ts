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
} from '#platform/clock';
import type { Logger } from '#platform/logger';
import type { ServerClocks } from '#storage/ports/cluster';

/** What comparing clocks takes. */
type ClockWatchOptions = {
  readonly bus: Bus;
  readonly clock: Clock;
  /** First part of all subjects. */
  readonly prefix: string;
  /** Asked where fewer than two others are heard; undefined: nothing keeps data but this process. */
  readonly serverClocks?: ServerClocks | undefined;
  /** One line for the log when this process's clock is found wrong, and when it is right again. */
  readonly logger: Logger;
};

/** How long what a process's clock showed counts, in milliseconds: five heartbeats. */
const HEARD_MS_MAX = 5_000;

/**
 * How long a clock must deviate before its process gives its shards away, in milliseconds: as long
 * as views must agree before one moves. Source: decision 138.
 */
const DEVIATING_MS = 3_000;

/** How often the clocks are compared, in milliseconds: as often as they are heard. */
const LOOK_MS = 1_000;

/** A look that is this late, in milliseconds, shows that the process was held up. */
const STALL_MS = 5_000;

/** How long no process is heard after that, in milliseconds: what waited shows late times. */
const DEAF_MS = 2_000;

/** Processes whose clocks are compared; a fleet of 500 and what it was before a restart. */
const CLOCKS_MAX = 4_096;

/** What another process's clock showed, less this process's monotonic clock, and when. */
type Shown = { readonly aheadMs: number; readonly heardMs: number };

/**
 * Compares this process's wall clock with those of all engines and limiters that are heard: their
 * heartbeats say when they were sent. Where fewer than two are heard, as on a bus that vouches for
 * no sender, the clocks of the data's servers may agree with it, but never find it wrong. A clock
 * found wrong stays so until it agrees with others or with what they last showed: that they fall
 * silent or start again mends nothing.
 */
export class ClockWatch implements Disposable {
  readonly #options: ClockWatchOptions;
  readonly #known = new ShownClocks();
  /** Senders dropped by the bus for their clocks: all, if this process started with a wrong one. */
  readonly #strangers = new ShownClocks();
  readonly #servers: ServerAgreement | undefined;
  readonly #opened = new DisposableStack();
  #deviatingSinceMs: number | undefined;
  /** What the others showed when this process was last found wrong; undefined once it is right. */
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

  /** Whether this process's wall clock agrees with the others', and how far it is ahead of them. */
  get agreement(): ClockAgreement {
    const { clock } = this.#options;
    const own = clock.wallMs() - clock.monotonicMs();
    const others = this.#others();
    const judged = judgeClock({ own, others });
    const isAgreed = judged.verdict === 'unsure' && this.#hasServersWith(own, others);
    return this.#judged(own, isAgreed ? { ...judged, verdict: 'agreed' } : judged);
  }

  /** The verdict alone. */
  get verdict(): ClockVerdict {
    return this.agreement.verdict;
  }

  /**
   * Whether the clock has been wrong for so long that this process should serve nothing. One that
   * was never right should not even begin to.
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
   * Whether the servers' clocks agree with this one where fewer than two others are heard, and one
   * does not contradict. Two or more decide alone (decision 138).
   */
  #hasServersWith(own: number, others: readonly number[]): boolean {
    if (others.length >= OTHERS_MIN || this.#servers?.agreesWith(own) !== true) return false;
    return others.every((other) => isNear(own, other));
  }

  /** What the clocks of the others showed just now, less this process's monotonic clock. */
  #others(): number[] {
    const sinceMs = this.#options.clock.monotonicMs() - HEARD_MS_MAX;
    const known = this.#known.since(sinceMs);
    // A recording played again must not outvote those who are heard for certain.
    return known.length >= OTHERS_MIN ? known : [...known, ...this.#strangers.since(sinceMs)];
  }

  /** What is judged now, in the light of what was found before. */
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

  /** Whether what is heard now may have waited while this process was held up. */
  #isDeaf(): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#awakeMs >= STALL_MS) {
      this.#awakeMs = nowMs;
      this.#deafUntilMs = nowMs + DEAF_MS;
    }
    return nowMs < this.#deafUntilMs;
  }

  /** Notes since when the clock has been wrong, and reports each change. */
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
        'the wall clock of this process agrees with the others again: it serves as before',
      );
      return;
    }
    logger.error(
      { aheadSeconds: Math.round(aheadMs / 1_000) },
      'the wall clock of this process differs from the others: it begins no month, claims nothing and gives its shards away until the clock is corrected',
    );
  }
}

/** What other clocks showed in the last few seconds. */
class ShownClocks {
  /** In the order in which they were last heard. */
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

  /** Those heard later than `heardMs`, by this process's monotonic clock. */
  since(heardMs: number): number[] {
    const recent = [...this.#shown.values()].filter((shown) => shown.heardMs > heardMs);
    return recent.map(({ aheadMs }) => aheadMs);
  }
}

/** How often the servers are asked for their time while it is needed, in milliseconds. */
const ASK_PERIOD_MS = 10_000;

/** How long an answer counts, in milliseconds: two that fail are no reason to forget it. */
const ANSWER_MS_MAX = 30_000;

/** An answer that took longer, in milliseconds, shows nothing of now. */
const ASKING_MS_MAX = 10_000;

/** What the servers' clocks showed, each less this process's monotonic clock, and when (monotonic). */
type Answer = { readonly aheadMs: readonly number[]; readonly atMs: number };

/** Whether the clocks of the data's servers agree with that of this process (decision 138). */
class ServerAgreement {
  readonly #servers: ServerClocks;
  readonly #clock: Clock;
  #answer: Answer | undefined;
  #askedMs = Number.NEGATIVE_INFINITY;

  constructor(servers: ServerClocks, clock: Clock) {
    this.#servers = servers;
    this.#clock = clock;
  }

  /** Asks the servers again, unless they were asked just now. */
  ask(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#askedMs < ASK_PERIOD_MS) return;
    this.#askedMs = nowMs;
    this.#servers.read().then(
      (shown) => this.#note(shown, nowMs),
      () => undefined,
    );
  }

  /** Whether most servers agree with a wall clock that is `ownMs` ahead of the monotonic one. */
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
