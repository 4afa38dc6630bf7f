import { type Clock, isoTime } from '#platform/clock';
import type { Logger } from '#platform/logger';

/** How long no request of several is answered before an outage is reported, in milliseconds. Chosen. */
const OUTAGE_MS = 3_000;

/** Unanswered requests that make an outage: one alone may be a lost packet. */
const UNANSWERED_MIN = 2;

type DependencyOptions = {
  /** `Cassandra`, `NATS`, `limiter`. */
  readonly name: string;
  readonly address: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onClosed?: (dependency: Dependency) => void;
};

/**
 * Reports the outages of one dependency: one log line when it does not answer, with the time since
 * when, and one line when it answers again. Source: decision 342.
 */
export class Dependency implements Disposable {
  readonly #options: DependencyOptions;
  #unanswered = 0;
  /** When the first request of the outage was found unanswered. */
  #foundMs = 0;
  #sinceMs = 0;
  #sinceWallMs = 0;
  #isReported = false;

  constructor(options: DependencyOptions) {
    this.#options = options;
  }

  /** A line for the readiness probe; undefined while the dependency answers. */
  get note(): string | undefined {
    if (!this.#isReported) return undefined;
    const { name, address } = this.#options;
    return `${name} at ${address} does not answer since ${isoTime(this.#sinceWallMs)}`;
  }

  /** A request was answered, by a refusal too. On the hot path: one comparison. */
  answered(): void {
    if (this.#unanswered === 0) return;
    this.#unanswered = 0;
    if (!this.#isReported) return;
    this.#isReported = false;
    const { name, address, clock, logger } = this.#options;
    const seconds = Math.round((clock.monotonicMs() - this.#sinceMs) / 100) / 10;
    const since = isoTime(this.#sinceWallMs);
    logger.info({ dependency: name, address, since, seconds }, 'a dependency answers again');
  }

  /** A request that began `seconds` ago has no answer. */
  unanswered(why: string, seconds = 0): void {
    this.#note(seconds);
    const lastedMs = this.#options.clock.monotonicMs() - this.#foundMs;
    if (this.#unanswered < UNANSWERED_MIN || lastedMs < OUTAGE_MS) return;
    this.#report(why, 'a dependency does not answer');
  }

  /** The only connection is lost: an outage from now on. */
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
    if (this.#unanswered === 0) {
      this.#foundMs = clock.monotonicMs();
      this.#sinceMs = this.#foundMs - seconds * 1_000;
      this.#sinceWallMs = clock.wallMs() - seconds * 1_000;
    }
    this.#unanswered += 1;
  }

  #report(why: string, text: string): void {
    if (this.#isReported) return;
    this.#isReported = true;
    const { name, address, logger } = this.#options;
    const since = isoTime(this.#sinceWallMs);
    logger.warn({ dependency: name, address, since, why }, text);
  }
}

/** Dependencies of a process, by which its readiness probe explains what is degraded. */
export class Dependencies {
  readonly #ports: Pick<DependencyOptions, 'clock' | 'logger'>;
  readonly #open = new Set<Dependency>();

  constructor(ports: Pick<DependencyOptions, 'clock' | 'logger'>) {
    this.#ports = ports;
  }

  /** Watches one more dependency, until it is disposed. */
  watch(name: string, address: string): Dependency {
    const onClosed = (closed: Dependency): void => void this.#open.delete(closed);
    const dependency = new Dependency({ ...this.#ports, name, address, onClosed });
    this.#open.add(dependency);
    return dependency;
  }

  /** One line for each dependency that does not answer. */
  get notes(): readonly string[] {
    return [...this.#open].flatMap(({ note }) => note ?? []);
  }
}
