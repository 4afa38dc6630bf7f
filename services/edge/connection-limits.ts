import { type AddressWarnings, addressWarnings } from '#edge/address-warnings';
import type { ConnectionMetrics } from '#edge/edge-metrics';
import { Pipelines } from '#edge/pipelines';
import { UnfinishedBodies } from '#edge/unfinished-bodies';
import { UnreadAnswers } from '#edge/unread-answers';
import type { Clock } from '#platform/clock';
import type { Logger } from '#platform/logger';

/** The limits on connections that send or read too slowly, or too much at once. */
type ConnectionLimits = {
  readonly warnings: AddressWarnings;
  readonly pipelines: Pipelines;
  readonly bodies: UnfinishedBodies;
  readonly unread: UnreadAnswers;
  /** Reports how many there are of each. */
  measure(): void;
};

/** The bounds of a listener that no single request can see, with their metrics and log lines. */
export function connectionLimits(
  clock: Clock,
  metrics: ConnectionMetrics,
  logger: Logger,
): ConnectionLimits {
  const warnings = addressWarnings(clock, logger);
  const pipelines = new Pipelines();
  const bodies = new UnfinishedBodies((what) => {
    metrics.bodyGivenUp();
    warnings.unfinished(what);
  });
  const unread = new UnreadAnswers(clock, metrics.slowReaderEnded);
  return {
    warnings,
    pipelines,
    bodies,
    unread,
    measure() {
      metrics.unfinished(bodies.count, bodies.bytes);
      metrics.unread(unread.bytes);
      metrics.waiting(pipelines.waiting);
    },
  };
}
