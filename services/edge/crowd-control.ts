import { type AddressWarnings, addressWarnings } from '#edge/address-warnings';
import type { EdgeMetrics } from '#edge/edge-metrics';
import { Talks } from '#edge/talks';
import { UnfinishedBodies } from '#edge/unfinished-bodies';
import { UnreadAnswers } from '#edge/unread-answers';
import type { Clock } from '#platform/clock';
import type { Logger } from '#platform/logger';

/** What keeps callers who send or read too slowly, or too much at once, from holding up the others. */
export type CrowdControl = {
  readonly warnings: AddressWarnings;
  readonly talks: Talks;
  readonly bodies: UnfinishedBodies;
  readonly unread: UnreadAnswers;
  /** Reports how many there are of each. */
  measure(): void;
};

/** The bounds of a listener that no single request can see, with their metrics and log lines. */
export function crowdControl(clock: Clock, metrics: EdgeMetrics, logger: Logger): CrowdControl {
  const warnings = addressWarnings(clock, logger);
  const talks = new Talks();
  const bodies = new UnfinishedBodies((what) => {
    metrics.bodyGivenUp();
    warnings.unfinished(what);
  });
  const unread = new UnreadAnswers(clock, metrics.slowReaderEnded);
  return {
    warnings,
    talks,
    bodies,
    unread,
    measure() {
      metrics.unfinished(bodies.count, bodies.bytes);
      metrics.unread(unread.bytes);
      metrics.waiting(talks.waiting);
    },
  };
}
