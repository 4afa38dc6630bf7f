import type { Bus, Sender } from '#bus/bus';
import { heartbeatSubject } from '#cluster/heartbeat';
import { type Clock, every } from '#platform/clock';
import { type ClockAgreement, type ClockVerdict, judgeClock } from '#platform/clock-agreement';

/** What comparing clocks takes. */
export type ClockWatchOptions = {
  readonly bus: Bus;
  readonly clock: Clock;
  /** First part of all subjects. */
  readonly prefix: string;
  /** One line for the log when this process's clock is found wrong, and when it is right again. */
  readonly onNotice: (notice: string) => void;
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

/** Processes whose clocks are compared; a fleet of 500 and what it was before a restart. */
const CLOCKS_MAX = 4_096;

/**
 * Compares this process's wall clock with those of all engines and limiters that are heard: their
 * heartbeats say when they were sent. Where the bus vouches for no sender it is never sure.
 */
export class ClockWatch implements Disposable {
  readonly #options: ClockWatchOptions;
  readonly #others = new Map<string, { readonly ahead: number; readonly heardMs: number }>();
  readonly #opened = new DisposableStack();
  #deviatingSinceMs: number | undefined;

  constructor(options: ClockWatchOptions) {
    this.#options = options;
    const { bus, clock, prefix } = options;
    this.#opened.use(every(clock, LOOK_MS, () => this.#look()));
    for (const service of ['engine', 'limiter'] as const) {
      const hear = (_: Uint8Array, sender?: Sender): void => this.#hear(sender);
      this.#opened.use(bus.subscribe(heartbeatSubject(prefix, service), hear));
    }
  }

  /** Whether this process's wall clock agrees with the others', and how far it is ahead of them. */
  get agreement(): ClockAgreement {
    const { clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const heard = [...this.#others.values()].filter((o) => nowMs - o.heardMs < HEARD_MS_MAX);
    const own = clock.wallMs() - nowMs;
    return judgeClock({ own, others: heard.map(({ ahead }) => ahead) });
  }

  /** The verdict alone. */
  get verdict(): ClockVerdict {
    return this.agreement.verdict;
  }

  /** Whether the clock has been wrong for so long that this process should serve nothing. */
  get isAside(): boolean {
    const sinceMs = this.#deviatingSinceMs;
    return sinceMs !== undefined && this.#options.clock.monotonicMs() - sinceMs >= DEVIATING_MS;
  }

  [Symbol.dispose](): void {
    this.#opened.dispose();
  }

  #hear(sender: Sender | undefined): void {
    const { bus, clock } = this.#options;
    if (sender === undefined || sender.incarnation === bus.incarnation) return;
    const heardMs = clock.monotonicMs();
    this.#others.delete(sender.incarnation);
    this.#others.set(sender.incarnation, { ahead: sender.sentAtMs - heardMs, heardMs });
    for (const [incarnation, other] of this.#others) {
      const isOld = heardMs - other.heardMs >= HEARD_MS_MAX;
      if (!isOld && this.#others.size <= CLOCKS_MAX) break;
      this.#others.delete(incarnation);
    }
  }

  /** Notes since when the clock has been wrong, and tells of each change. */
  #look(): void {
    const { clock, onNotice } = this.#options;
    const { verdict, aheadMs } = this.agreement;
    const isDeviating = verdict === 'deviating';
    if (isDeviating === (this.#deviatingSinceMs !== undefined)) return;
    this.#deviatingSinceMs = isDeviating ? clock.monotonicMs() : undefined;
    if (!isDeviating) {
      onNotice('the wall clock of this process is no longer found wrong: it serves as before');
      return;
    }
    const off = `${Math.round(Math.abs(aheadMs) / 1_000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
    onNotice(
      `the wall clock of this process is ${off} that of the others: it begins no month, claims nothing and gives its shards away until that is mended`,
    );
  }
}
