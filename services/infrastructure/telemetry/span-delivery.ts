import type { Clock } from '#stdlib/clock';
import { LogRateLimit } from '#telemetry/log-limits';
import type { Logger } from '#telemetry/logger';

/** Dependencies of a span delivery. */
type SpanDeliveryPorts = {
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** Address of the collector, for the log. */
  readonly endpoint: string;
  /** Called with the number of spans that were lost. */
  readonly onLost: (spans: number) => void;
};

/** Maximum number of finished spans queued or being exported: 2 MiB. */
export const SPANS_HELD_MAX = 2_048;

/** Minimum time between two log lines about rejected spans, in milliseconds. */
const REFUSALS_PERIOD_MS = 60_000;

/** Maximum length of the collector's reason in the log, in characters. */
const REASON_LENGTH_MAX = 200;

/**
 * Bounds and counts the spans that wait for the collector. An unavailable or slow collector costs
 * limited memory, one log line when the outage begins, and another line when it ends.
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

  /** Number of spans that have begun and not ended. */
  get open(): number {
    return this.#open;
  }

  /** Records that a span begins. */
  begin(): void {
    this.#open += 1;
  }

  /**
   * Records that a span has ended. Returns whether the span may be queued. If not, the span is
   * lost.
   */
  end(): boolean {
    this.#open -= 1;
    if (this.#held >= SPANS_HELD_MAX) {
      this.#lose(1);
      return false;
    }
    this.#held += 1;
    return true;
  }

  /** Records that the collector accepted this many spans. */
  delivered(spans: number): void {
    this.#held -= spans;
    if (!this.#isFailing) return;
    const { logger, endpoint } = this.#ports;
    logger.info({ endpoint, lost: this.#lost }, 'the collector accepts spans again');
    this.#isFailing = false;
    this.#lost = 0;
  }

  /** Records that an export failed. Its spans are lost, not retried. */
  failed(spans: number, err: unknown): void {
    this.#held -= spans;
    this.#lose(spans);
    if (this.#isFailing) return;
    this.#isFailing = true;
    const { logger, endpoint } = this.#ports;
    logger.warn({ endpoint, err }, 'spans are lost: the collector does not accept them');
  }

  /**
   * Records a partial success: the collector rejected this number of spans of an export, possibly
   * none, and gave a reason.
   */
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
