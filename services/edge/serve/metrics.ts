import { ENDPOINTS } from '#edge/endpoints/all';
import type { HistogramSeries } from '#platform/make-metric';
import type { Metrics } from '#platform/metrics';

/** Methods that a label may hold; what else Node knows is counted together. */
const COUNTED_METHODS = new Set(['GET', 'POST', 'PATCH', 'DELETE']);

/** Why the limiter gives no answer, as a rule. */
const FAIL_CLOSED_REASONS = ['limiter_unavailable', 'deadline_exceeded', 'overloaded'] as const;

/** Statuses that must be shown before there is one, beside the endpoint's own success. */
const SHOWN_FAILURES = [500, 503] as const;

/** What an answer is counted under: `path` is a template. */
export type Counted = { readonly method: string; readonly path: string };

/**
 * What the edge reports, on a registry of the process. Labels are bound once and kept: an endpoint's
 * success and failures at the start, or Prometheus would not count the first of each; others on first use.
 */
export function edgeMetrics(metrics: Metrics) {
  const durations = metrics.histogram('http_server_request_duration_seconds');
  const bound = new Map<string, HistogramSeries>();
  const seriesOf = ({ method, path: route }: Counted, status: number): HistogramSeries => {
    const key = `${method} ${route} ${status}`;
    const kept = bound.get(key);
    if (kept !== undefined) return kept;
    const series = durations.labels({
      http_request_method: countedMethod(method),
      http_route: route,
      http_response_status_code: status,
    });
    bound.set(key, series);
    return series;
  };
  for (const endpoint of ENDPOINTS) {
    for (const status of [endpoint.success, ...SHOWN_FAILURES]) seriesOf(endpoint, status);
  }
  const active = metrics.gauge('http_server_active_requests');
  const inflight = metrics.gauge('edge_inflight');
  return {
    ...admissionMetrics(metrics),
    ...connectionMetrics(metrics),
    /** An HTTP answer left; its span, if it is traced. */
    answered(counted: Counted, status: number, seconds: number, span?: string): void {
      seriesOf(counted, status).observe(seconds, span);
    },
    /** How many requests are whole and not answered. */
    active: (count: number) => active.set(count),
    /** How many calls are admitted and not answered. */
    inflight: (count: number) => inflight.set(count),
  };
}

/** What is reported of asking the limiter. */
export function admissionMetrics(metrics: Metrics) {
  const checks = metrics.histogram('limiter_check_duration_seconds').labels({});
  const refusedUnasked = metrics.counter('edge_refused_unasked_total');
  const notLookedUp = metrics.counter('edge_unknown_keys_not_looked_up_total');
  const failures = metrics.counter('edge_fail_closed_total');
  // Shown from the first scrape on, or Prometheus could not see the first of each.
  for (const reason of FAIL_CLOSED_REASONS) failures.inc({ reason }, 0);
  const unsettled = metrics.counter('edge_unsettled_total');
  return {
    /** The limiter answered. */
    checked: (seconds: number, span: string | undefined) => checks.observe(seconds, span),
    /** A call was refused as `rate_limited` from memory. */
    refusedUnasked: () => refusedUnasked.inc(),
    /** A call was refused because of too many refused keys from its address. */
    notLookedUp: () => notLookedUp.inc(),
    /** A call was refused because the limiter was not sure. */
    failedClosed: (reason: string) => failures.inc({ reason }),
    /** A settlement did not reach the limiter. */
    unsettled: () => unsettled.inc(),
  };
}

/** What is reported of connections that send or read slowly. */
export function connectionMetrics(metrics: Metrics) {
  const bodiesGivenUp = metrics.counter('edge_bodies_given_up_total');
  const readersEnded = metrics.counter('edge_slow_readers_ended_total');
  const unfinished = metrics.gauge('edge_unfinished_bodies');
  const unfinishedBytes = metrics.gauge('edge_unfinished_body_bytes');
  const unreadBytes = metrics.gauge('edge_unread_answer_bytes');
  const waiting = metrics.gauge('edge_pipelined_requests');
  return {
    /** A body was given up, because too many are unfinished. */
    bodyGivenUp: () => bodiesGivenUp.inc(),
    /** A connection was ended that does not take its answers. */
    slowReaderEnded: (cause: string) => readersEnded.inc({ cause }),
    /** How many bodies are unfinished, and what they hold. */
    unfinished(count: number, bytes: number): void {
      unfinished.set(count);
      unfinishedBytes.set(bytes);
    },
    /** How many bytes of answers no client has taken. */
    unread: (bytes: number) => unreadBytes.set(bytes),
    /** How many requests wait for answers in front of theirs. */
    waiting: (count: number) => waiting.set(count),
  };
}

/** What the edge reports of streams of events. */
export function streamMetrics(metrics: Metrics) {
  const open = metrics.gauge('edge_event_streams');
  return {
    /** How many are open. */
    open: (count: number) => open.set(count),
    /** One has ended. */
    ended: streamEnds(metrics),
  };
}

/** Counts streams that end, by cause. */
export function streamEnds(metrics: Metrics): (cause: string) => void {
  const ended = metrics.counter('edge_event_streams_ended_total');
  return (cause) => ended.inc({ cause });
}

/** A method as a label may hold it. */
export function countedMethod(method: string): string {
  return COUNTED_METHODS.has(method) ? method : '_OTHER';
}

/** What is reported of answers. */
export type AnswerMetrics = Pick<ReturnType<typeof edgeMetrics>, 'answered'>;

/** What is reported of asking the limiter. */
export type AdmissionMetrics = ReturnType<typeof admissionMetrics>;

/** What is reported of connections. */
export type ConnectionMetrics = ReturnType<typeof connectionMetrics>;
