import type { Fault } from '#errors/fault';
import { type Clock, PerSecond } from '#stdlib/clock';
import type { Logger } from '#telemetry/logger';

/**
 * Minimum time between two log lines of a kind, in milliseconds, so that a flood of calls does not
 * flood the log.
 */
const LINE_PERIOD_MS = 30_000;

/**
 * Rate limit for log lines of one kind: one line per period, 30 s by default. Counts suppressed
 * lines.
 */
export class LogRateLimit {
  readonly #clock: Clock;
  readonly #periodMs: number;
  #lastMs = Number.NEGATIVE_INFINITY;
  #suppressed = 0;

  constructor(clock: Clock, periodMs = LINE_PERIOD_MS) {
    this.#clock = clock;
    this.#periodMs = periodMs;
  }

  /**
   * Calls `log` with the number of lines suppressed since the last line, unless that line is too
   * recent.
   */
  run(log: (suppressed: number) => void): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lastMs < this.#periodMs) {
      this.#suppressed += 1;
      return;
    }
    const suppressed = this.#suppressed;
    this.#lastMs = nowMs;
    this.#suppressed = 0;
    log(suppressed);
  }
}

/**
 * Maximum number of stacks with causes logged per second. Each takes three kilobytes, and an outage
 * causes thousands of refusals with the same causes. Source: decision 341.
 */
const CHAINS_PER_SECOND = 1;

/**
 * Maximum number of lines about 503 responses per second. The next line has the number of
 * suppressed lines. Source: decision 341.
 */
const REFUSAL_LINES_PER_SECOND = 20;

/**
 * Log of calls that failed with 5xx. Causes are written only here. A 500 is an `error` and always
 * logged. A 503 is a `warn` and rate-limited. At most one line of each kind per second contains the
 * whole chain of causes with stacks.
 */
export class FailureLog {
  readonly #logger: Logger;
  readonly #refusals: PerSecond;
  readonly #refusalChains: PerSecond;
  readonly #bugChains: PerSecond;
  #suppressed = 0;

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#refusals = new PerSecond(clock, REFUSAL_LINES_PER_SECOND);
    this.#refusalChains = new PerSecond(clock, CHAINS_PER_SECOND);
    this.#bugChains = new PerSecond(clock, CHAINS_PER_SECOND);
  }

  /** Logs a call that the service refuses temporarily. `fields`: request, route and trace. */
  refused(fields: object, fault: Fault): void {
    if (!this.#refusals.take()) {
      this.#suppressed += 1;
      return;
    }
    const { code, reason, message } = fault;
    const suppressed = this.#suppressed || undefined;
    this.#suppressed = 0;
    const err = this.#refusalChains.take() ? fault : undefined;
    const why = err === undefined ? rootOf(fault) : undefined;
    this.#logger.warn({ ...fields, code, reason, why, suppressed, err }, message);
  }

  /** Logs a bug: an unexpected error. */
  bug(fields: object, error: unknown, message = 'bug'): void {
    const err = this.#bugChains.take() ? error : undefined;
    const why = err === undefined ? rootOf(error) : undefined;
    this.#logger.error({ ...fields, why, err }, message);
  }
}

/** Message of the root cause, for a line without the chain. */
function rootOf(error: unknown): string {
  let root = error;
  for (let depth = 0; depth < CAUSES_MAX; depth += 1) {
    if (!Error.isError(root) || root.cause === undefined) break;
    root = root.cause;
  }
  return Error.isError(root) ? root.message : String(root);
}

/** Maximum number of causes followed to the root. */
const CAUSES_MAX = 16;
