import { ENDPOINTS } from '#edge/endpoints/all';
import type { HistogramSeries } from '#telemetry/make-metric';
import type { Metrics } from '#telemetry/metrics';

/** Methods with their own label value. All other methods share `_OTHER`. */
const COUNTED_METHODS = new Set(['GET', 'POST', 'PATCH', 'DELETE']);

/** Usual reasons for a missing answer of the limiter. */
const FAIL_CLOSED_REASONS = ['limiter_unavailable', 'deadline_exceeded', 'overloaded'] as const;

/**
 * Failure statuses whose series exist from the start, besides the success status of an endpoint.
 */
const SHOWN_FAILURES = [500, 503] as const;

/** Labels of an answer. `path` is a template. */
export type Counted = { readonly method: string; readonly path: string };

/**
 * Metrics of the edge in the registry of the process.
 *
 * Label sets are bound once and cached. Success, 500 and 503 of every endpoint are bound at the
 * start, because Prometheus would miss the first increment of a new series.
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
    /** Records an answer that was sent. `span` is its span, if traced. */
    answered(counted: Counted, status: number, seconds: number, span?: string): void {
      seriesOf(counted, status).observe(seconds, span);
    },
    /** Sets the number of complete requests without an answer. */
    active: (count: number) => active.set(count),
    /** Sets the number of admitted calls without an answer. */
    inflight: (count: number) => inflight.set(count),
  };
}

/** Metrics of calls to the limiter. */
export function admissionMetrics(metrics: Metrics) {
  const checks = metrics.histogram('limiter_check_duration_seconds').labels({});
  const refusedUnasked = metrics.counter('edge_refused_unasked_total');
  const notLookedUp = metrics.counter('edge_unknown_keys_not_looked_up_total');
  const failures = metrics.counter('edge_fail_closed_total');
  // Create the series now, because Prometheus would miss the first increment of a new series.
  for (const reason of FAIL_CLOSED_REASONS) failures.inc({ reason }, 0);
  const unsettled = metrics.counter('edge_unsettled_total');
  return {
    /** Records an answer of the limiter. */
    checked: (seconds: number, span: string | undefined) => checks.observe(seconds, span),
    /** Counts a call refused as `rate_limited` from the cache. */
    refusedUnasked: () => refusedUnasked.inc(),
    /** Counts a call refused because its address sent too many refused keys. */
    notLookedUp: () => notLookedUp.inc(),
    /** Counts a call refused because the limiter gave no answer. */
    failedClosed: (reason: string) => failures.inc({ reason }),
    /** Counts a settlement that did not reach the limiter. */
    unsettled: () => unsettled.inc(),
  };
}

/** Metrics of connections that send or read slowly. */
export function connectionMetrics(metrics: Metrics) {
  const bodiesGivenUp = metrics.counter('edge_bodies_given_up_total');
  const readersEnded = metrics.counter('edge_slow_readers_ended_total');
  const unfinished = metrics.gauge('edge_unfinished_bodies');
  const unfinishedBytes = metrics.gauge('edge_unfinished_body_bytes');
  const unreadBytes = metrics.gauge('edge_unread_answer_bytes');
  const waiting = metrics.gauge('edge_pipelined_requests');
  return {
    /** Counts a body given up because too many are unfinished. */
    bodyGivenUp: () => bodiesGivenUp.inc(),
    /** Counts a closed connection whose client did not read its answers. */
    slowReaderEnded: (cause: string) => readersEnded.inc({ cause }),
    /** Sets the number of unfinished bodies and their bytes. */
    unfinished(count: number, bytes: number): void {
      unfinished.set(count);
      unfinishedBytes.set(bytes);
    },
    /** Sets the number of unread answer bytes. */
    unread: (bytes: number) => unreadBytes.set(bytes),
    /** Sets the number of requests that wait for earlier answers. */
    waiting: (count: number) => waiting.set(count),
  };
}

/** Metrics of event streams. */
export function streamMetrics(metrics: Metrics) {
  const open = metrics.gauge('edge_event_streams');
  return {
    /** Sets the number of open streams. */
    open: (count: number) => open.set(count),
    /** Counts an ended stream, by cause. */
    ended: streamEnds(metrics),
  };
}

/** Counter of ended event streams, by cause. */
export function streamEnds(metrics: Metrics): (cause: string) => void {
  const ended = metrics.counter('edge_event_streams_ended_total');
  return (cause) => ended.inc({ cause });
}

/** Label value of a method. */
export function countedMethod(method: string): string {
  return COUNTED_METHODS.has(method) ? method : '_OTHER';
}

/** Metrics of answers. */
export type AnswerMetrics = Pick<ReturnType<typeof edgeMetrics>, 'answered'>;

/** Metrics of calls to the limiter. */
export type AdmissionMetrics = ReturnType<typeof admissionMetrics>;

/** Metrics of connections. */
export type ConnectionMetrics = ReturnType<typeof connectionMetrics>;
