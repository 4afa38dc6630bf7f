import type { Metrics } from '#platform/metrics';

/** Methods that a label may hold; what else Node knows is counted together. */
const COUNTED_METHODS = new Set(['GET', 'POST', 'PATCH', 'DELETE']);

/** What the edge reports; label values are bound on first use and kept. */
export type EdgeMetrics = {
  /** An HTTP answer left. `route` is a template. */
  answered(method: string, route: string, status: number, seconds: number): void;
  /** The limiter answered. */
  checked(seconds: number): void;
  /** A call was refused as `rate_limited` from memory. */
  refusedUnasked(): void;
  /** A call was refused because of too many refused keys from its address. */
  notLookedUp(): void;
  /** A call was refused because the limiter was not sure. */
  failedClosed(reason: string): void;
  /** A settlement did not reach the limiter. */
  unsettled(): void;
  /** A body was given up, because too many are unfinished. */
  bodyGivenUp(): void;
  /** A connection was ended that does not take its answers. */
  slowReaderEnded(cause: string): void;
  /** How many requests are whole and not answered. */
  active(count: number): void;
  /** How many bodies are unfinished, and what they hold. */
  unfinished(count: number, bytes: number): void;
  /** How many bytes of answers no client has taken. */
  unread(bytes: number): void;
  /** How many requests wait for answers in front of theirs. */
  waiting(count: number): void;
  /** How many calls are admitted and not answered. */
  inflight(count: number): void;
};

/** The edge's metrics, on a registry of the process. */
export function edgeMetrics(metrics: Metrics): EdgeMetrics {
  const durations = metrics.histogram('http_server_request_duration_seconds');
  const bound = new Map<string, { observe(seconds: number): void }>();
  const checks = metrics.histogram('limiter_check_duration_seconds').labels({});
  const refusedUnasked = metrics.counter('edge_refused_unasked_total');
  const notLookedUp = metrics.counter('edge_unknown_keys_not_looked_up_total');
  const failures = metrics.counter('edge_fail_closed_total');
  const unsettled = metrics.counter('edge_unsettled_total');
  const bodiesGivenUp = metrics.counter('edge_bodies_given_up_total');
  const readersEnded = metrics.counter('edge_slow_readers_ended_total');
  const unfinished = metrics.gauge('edge_unfinished_bodies');
  const unfinishedBytes = metrics.gauge('edge_unfinished_body_bytes');
  const unreadBytes = metrics.gauge('edge_unread_answer_bytes');
  const waiting = metrics.gauge('edge_pipelined_requests');
  const active = metrics.gauge('http_server_active_requests');
  const inflight = metrics.gauge('edge_inflight');
  return {
    answered(method, route, status, seconds) {
      const key = `${method} ${route} ${status}`;
      let child = bound.get(key);
      if (child === undefined) {
        child = durations.labels({
          http_request_method: COUNTED_METHODS.has(method) ? method : '_OTHER',
          http_route: route,
          http_response_status_code: status,
        });
        bound.set(key, child);
      }
      child.observe(seconds);
    },
    checked: (seconds) => checks.observe(seconds),
    refusedUnasked: () => refusedUnasked.inc(),
    notLookedUp: () => notLookedUp.inc(),
    failedClosed: (reason) => failures.inc({ reason }),
    unsettled: () => unsettled.inc(),
    bodyGivenUp: () => bodiesGivenUp.inc(),
    slowReaderEnded: (cause) => readersEnded.inc({ cause }),
    unfinished(count, bytes) {
      unfinished.set(count);
      unfinishedBytes.set(bytes);
    },
    unread: (bytes) => unreadBytes.set(bytes),
    waiting: (count) => waiting.set(count),
    active: (count) => active.set(count),
    inflight: (count) => inflight.set(count),
  };
}
