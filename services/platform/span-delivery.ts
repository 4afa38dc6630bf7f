import type { Clock } from '#platform/clock';
import { LogRateLimit } from '#platform/log-limits';
import type { Logger } from '#platform/logger';

/** What a delivery reports to. */
type SpanDeliveryPorts = {
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** Where the collector is, for the log. */
  readonly endpoint: string;
  /** Counts spans that no collector will show. */
  readonly onLost: (spans: number) => void;
};

/** Spans that wait for the collector or are on their way to it: 2 MiB. Chosen. */
export const SPANS_HELD_MAX = 2_048;

/** Between two lines about spans that the collector refuses, in milliseconds. Chosen. */
const REFUSALS_PERIOD_MS = 60_000;

/** Characters of the collector's reason in the log. Chosen. */
const REASON_LENGTH_MAX = 200;

/**
 * Keeps account of the spans that a process holds for its collector, so that a collector that is away
 * or slow costs a bounded amount of memory, and one log line when that begins and one when it ends.
 */
export class SpanDelivery {
  readonly #ports: SpanDeliveryPorts;
  readonly #refusals: LogRateLimit;
  #open = 0;
  #held = 0;
  #lost = 0;
  #isFailing = false;

  constructor(ports: SpanDeliveryPorts) {
    this.#ports = ports;
    this.#refusals = new LogRateLimit(ports.clock, REFUSALS_PERIOD_MS);
  }

  /** How many spans have begun and not ended. */
  get open(): number {
    return this.#open;
  }

  /** A span begins. */
  begin(): void {
    this.#open += 1;
  }

  /** A span has ended. Returns whether it may be held; one that may not is lost. */
  end(): boolean {
    this.#open -= 1;
    if (this.#held >= SPANS_HELD_MAX) {
      this.#lose(1);
      return false;
    }
    this.#held += 1;
    return true;
  }

  /** The collector has taken this many. */
  delivered(spans: number): void {
    this.#held -= spans;
    if (!this.#isFailing) return;
    const { logger, endpoint } = this.#ports;
    logger.info({ endpoint, lost: this.#lost }, 'spans are delivered again');
    this.#isFailing = false;
    this.#lost = 0;
  }

  /** The collector has not, and they are not sent again. */
  failed(spans: number, err: unknown): void {
    this.#held -= spans;
    this.#lose(spans);
    if (this.#isFailing) return;
    this.#isFailing = true;
    const { logger, endpoint } = this.#ports;
    logger.warn({ endpoint, err }, 'spans cannot be delivered, and are lost until they can');
  }

  /** The collector has taken a message but for this many of its spans, or has a remark about it. */
  refused(spans: number, reason: string): void {
    const { logger, endpoint, onLost } = this.#ports;
    onLost(spans);
    this.#refusals.run((suppressed) => {
      const why = reason.slice(0, REASON_LENGTH_MAX);
      logger.warn({ endpoint, refused: spans, why, suppressed }, 'the collector refuses spans');
    });
  }

  #lose(spans: number): void {
    this.#lost += spans;
    this.#ports.onLost(spans);
  }
}
