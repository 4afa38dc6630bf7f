import type { Fault } from '#fault/fault';
import { type Clock, PerSecond } from '#platform/clock';
import type { Logger } from '#platform/logger';

/** Between two log lines of a kind, in milliseconds: a flood of calls must not become one of lines. */
const LINE_PERIOD_MS = 30_000;

/** Bounds log lines of a kind to one in a period, 30 s by default, and counts the suppressed ones. */
export class LogRateLimit {
  readonly #clock: Clock;
  readonly #periodMs: number;
  #lastMs = Number.NEGATIVE_INFINITY;
  #suppressed = 0;

  constructor(clock: Clock, periodMs = LINE_PERIOD_MS) {
    this.#clock = clock;
    this.#periodMs = periodMs;
  }

  /** Calls `log` with how many lines were suppressed since the last one, unless that was just now. */
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
 * Stack chains in a second: three kilobytes each, and an outage causes thousands of refusals with
 * the same chain. Source: decision 341.
 */
const CHAINS_PER_SECOND = 1;

/** Lines about 503s in a second; the line after has the number of suppressed lines. Source: decision 341. */
const REFUSAL_LINES_PER_SECOND = 20;

/**
 * Log lines of calls that failed with 5xx, the only place where their causes are written. A 500 is
 * an `error`; every 500 has a line. A 503 is a `warn`, and lines are bounded per second. Of each kind
 * one line in a second has the chain of causes with its stacks.
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

  /** A call that the service refuses for now. `fields`: request, route and trace. */
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

  /** A bug: an error that no code foresaw. */
  bug(fields: object, error: unknown, message = 'bug'): void {
    const err = this.#bugChains.take() ? error : undefined;
    const why = err === undefined ? rootOf(error) : undefined;
    this.#logger.error({ ...fields, why, err }, message);
  }
}

/** Text of the first cause of an error, in a line without the chain. */
function rootOf(error: unknown): string {
  let root = error;
  for (let depth = 0; depth < CAUSES_MAX; depth += 1) {
    if (!Error.isError(root) || root.cause === undefined) break;
    root = root.cause;
  }
  return Error.isError(root) ? root.message : String(root);
}

/** Causes that are followed to the first. */
const CAUSES_MAX = 16;
