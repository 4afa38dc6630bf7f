import { type Clock, isoTime } from '#stdlib/clock';
import type { Logger } from '#telemetry/logger';

/** Minimum time without an answer before an outage is reported, in milliseconds. */
const OUTAGE_MS = 3_000;

/**
 * Minimum number of unanswered requests in an outage. A single unanswered request may be a lost
 * packet.
 */
const UNANSWERED_MIN = 2;

type DependencyOptions = {
  /** Display name, such as `Cassandra`, `NATS` or `limiter`. */
  readonly name: string;
  readonly address: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onClosed?: (dependency: Dependency) => void;
};

/**
 * Outage detector for one dependency. Logs a line when it finds an outage, and a line when the
 * dependency answers again. Both lines contain the time at which the outage began. Source: decision
 * 342.
 */
export class Dependency implements Disposable {
  readonly #options: DependencyOptions;
  /** Number of unanswered requests since the last answer. Read on the hot path. */
  unansweredCount = 0;
  /** Monotonic time at which the first unanswered request of the outage was noticed. */
  #foundMs = 0;
  #sinceMs = 0;
  #sinceWallMs = 0;
  #isReported = false;

  constructor(options: DependencyOptions) {
    this.#options = options;
  }

  /** Line for the readiness probe. Undefined while the dependency answers. */
  get note(): string | undefined {
    if (!this.#isReported) return undefined;
    const { name, address } = this.#options;
    return `${name} at ${address} has not answered since ${isoTime(this.#sinceWallMs)}`;
  }

  /** Records an answer, which may be a refusal. Has no effect unless `unansweredCount` is above 0. */
  answered(): void {
    if (this.unansweredCount === 0) return;
    this.unansweredCount = 0;
    if (!this.#isReported) return;
    this.#isReported = false;
    const { name, address, clock, logger } = this.#options;
    const seconds = Math.round((clock.monotonicMs() - this.#sinceMs) / 100) / 10;
    const since = isoTime(this.#sinceWallMs);
    logger.info({ dependency: name, address, since, seconds }, 'a dependency answers again');
  }

  /** Records that a request that began `seconds` ago has not been answered. */
  unanswered(why: string, seconds = 0): void {
    this.#note(seconds);
    const lastedMs = this.#options.clock.monotonicMs() - this.#foundMs;
    if (this.unansweredCount < UNANSWERED_MIN || lastedMs < OUTAGE_MS) return;
    this.#report(why, 'a dependency does not answer');
  }

  /** Records that the only connection is lost. The outage is reported immediately. */
  lost(why: string): void {
    this.#note(0);
    this.#report(why, 'the connection to a dependency is lost');
  }

  [Symbol.dispose](): void {
    this.#isReported = false;
    this.#options.onClosed?.(this);
  }

  #note(seconds: number): void {
    const { clock } = this.#options;
    if (this.unansweredCount === 0) {
      this.#foundMs = clock.monotonicMs();
      this.#sinceMs = this.#foundMs - seconds * 1_000;
      this.#sinceWallMs = clock.wallMs() - seconds * 1_000;
    }
    this.unansweredCount += 1;
  }

  #report(why: string, text: string): void {
    if (this.#isReported) return;
    this.#isReported = true;
    const { name, address, logger } = this.#options;
    const since = isoTime(this.#sinceWallMs);
    logger.warn({ dependency: name, address, since, why }, text);
  }
}

/** Dependencies of a process. Its readiness probe lists the dependencies that do not answer. */
export class Dependencies {
  readonly #ports: Pick<DependencyOptions, 'clock' | 'logger'>;
  readonly #open = new Set<Dependency>();

  constructor(ports: Pick<DependencyOptions, 'clock' | 'logger'>) {
    this.#ports = ports;
  }

  /** Adds a dependency until it is disposed. */
  watch(name: string, address: string): Dependency {
    const onClosed = (closed: Dependency): void => void this.#open.delete(closed);
    const dependency = new Dependency({ ...this.#ports, name, address, onClosed });
    this.#open.add(dependency);
    return dependency;
  }

  /** Lines for the dependencies that do not answer. */
  get notes(): readonly string[] {
    return [...this.#open].flatMap(({ note }) => note ?? []);
  }
}
