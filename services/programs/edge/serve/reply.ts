import { type ServerResponse, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ENDPOINTS } from '#edge/endpoints/all';
import { type Exchange, exchangeOf, type Headers, unknownHeaders } from '#edge/http';
import type { UnreadAnswers } from '#edge/listen/slow-peers';
import { FLEET_STATUSES, type FleetStatus } from '#edge/schemas/answers';
import { FAULTS } from '#errors/error-codes';
import { type Fault, faultFor } from '#errors/fault';
import type { Clock } from '#stdlib/clock';
import { FailureLog } from '#telemetry/log-limits';
import type { Logger } from '#telemetry/logger';
import type { HistogramSeries } from '#telemetry/make-metric';
import type { Metrics } from '#telemetry/metrics';
import { endRequestSpan, traceFields } from '#telemetry/tracer';

/**
 * Maximum complete requests without an answer. Further requests would only queue (architecture
 * 3.7).
 */
const ACTIVE_REQUESTS_MAX = 8_192;

/**
 * Extra headers for a stream: no caching, no proxy buffering, and no later request on its
 * connection.
 */
const STREAM_HEADERS: Headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  connection: 'close',
};

/** Sends every API answer: adds the common headers, then records metric and log line. */
export class Reply {
  readonly #clock: Clock;
  readonly #metrics: AnswerMetrics;
  readonly #logger: Logger;
  readonly #unread: UnreadAnswers;
  readonly #safety: Headers;
  readonly #failures: FailureLog;
  #activeRequests = 0;

  /** `safety` contains the headers that protect browsers and caches, for every answer. */
  constructor(
    clock: Clock,
    metrics: AnswerMetrics,
    logger: Logger,
    unread: UnreadAnswers,
    safety: Headers = SAFETY_HEADERS,
  ) {
    this.#unread = unread;
    this.#safety = safety;
    this.#clock = clock;
    this.#metrics = metrics;
    this.#logger = logger;
    this.#failures = new FailureLog(logger, clock);
  }

  /** Complete API requests without an answer, even if their callers have disconnected. */
  get activeRequests(): number {
    return this.#activeRequests;
  }

  /**
   * Takes a slot for a complete request. The answer to the request releases the slot. Returns the
   * refusal if all slots are taken. Incomplete bodies take no slot (decision 160).
   */
  begin(exchange: Exchange): Fault | undefined {
    if (exchange.isActive) return undefined;
    if (this.#activeRequests >= ACTIVE_REQUESTS_MAX) {
      return faultFor('overloaded', 'too many requests in flight; retry', { retryAfterS: 1 });
    }
    exchange.isActive = true;
    this.#activeRequests += 1;
    return undefined;
  }

  /** Sends a refusal in the envelope from interface 7. */
  refuse(
    request: FastifyRequest,
    reply: FastifyReply,
    counted: Counted,
    fault: Fault,
    limits: Headers,
  ): void {
    const { status, headers, body } = faultReply(fault, exchangeOf(request)?.requestId ?? '');
    if (FAULTS[fault.code].http >= 500 && !isFlood(fault)) this.failed(request, counted, fault);
    this.send(request, reply, counted, status, { ...limits, ...headers }, body);
  }

  /** Logs a failure of the service in a call, or in a part of a call. */
  failed(request: FastifyRequest, counted: Counted, fault: Fault): void {
    this.#report(counted, fault, exchangeOf(request), fault.httpStatus);
  }

  /** Sends an answer. `body` is JSON, or undefined for a status without a body. */
  send(
    request: FastifyRequest,
    reply: FastifyReply,
    counted: Counted,
    status: number,
    headers: Headers,
    body: string | Uint8Array | undefined,
  ): void {
    const exchange = exchangeOf(request);
    this.#giveBack(exchange);
    if (reply.raw.headersSent) {
      // A bug occurred after the answer had started: a second answer would corrupt the first.
      reply.raw.destroy();
      return;
    }
    addCommonHeaders(headers, this.#safety, exchange);
    if (body !== undefined) headers['content-type'] = 'application/json; charset=utf-8';
    if (body !== undefined) headers['content-length'] = Buffer.byteLength(body);
    // Write to Node directly. Fastify's reply adds nothing needed, but costs a tenth more.
    reply.raw.writeHead(status, flat(headers)).end(body);
    const { socket } = reply.raw;
    if (socket !== null && body !== undefined) this.#unread.note(socket, body.length);
    this.#answered(counted, status, exchange);
  }

  /**
   * Starts an answer with server-sent events, and returns the response for its text.
   *
   * The stream ends with its connection, and no other request uses the connection. Metrics and log
   * count the answer as complete now.
   */
  stream(
    request: FastifyRequest,
    reply: FastifyReply,
    counted: Counted,
    headers: Headers,
  ): ServerResponse {
    const exchange = exchangeOf(request);
    this.#giveBack(exchange);
    addCommonHeaders(headers, this.#safety, exchange);
    reply.raw.writeHead(200, flat({ ...headers, ...STREAM_HEADERS }));
    // Events may be rare, so the socket has no timeout. `UnreadAnswers` closes slow readers.
    const { socket } = reply.raw;
    if (socket instanceof Socket) socket.setTimeout(0);
    this.#answered(counted, 200, exchange);
    return reply.raw;
  }

  #giveBack(exchange: Exchange | undefined): void {
    if (!exchange?.isActive) return;
    exchange.isActive = false;
    this.#activeRequests -= 1;
  }

  #answered(counted: Counted, status: number, exchange: Exchange | undefined): void {
    const trace = exchange?.trace;
    const seconds = (this.#clock.monotonicMs() - (exchange?.startedMs ?? 0)) / 1_000;
    this.#metrics.answered(counted, status, seconds, trace?.traceparent);
    if (trace?.span !== undefined)
      endRequestSpan(trace.span, countedMethod(counted.method), counted.path, status);
    if (this.#logger.isLevelEnabled('debug')) {
      const { requestId, caller } = exchange ?? {};
      const { method, path: route } = counted;
      const accountId = caller?.accountId;
      const line = { requestId, accountId, method, route, status, seconds };
      this.#logger.debug({ ...line, ...traceFields(trace?.traceparent) }, 'answered');
    }
  }

  #report(
    { method, path: route }: Counted,
    fault: Fault,
    exchange: Exchange | undefined,
    status: number,
  ): void {
    const { requestId = '', trace, caller } = exchange ?? {};
    const accountId = caller?.accountId;
    const trail = traceFields(trace?.traceparent);
    const line = { requestId, accountId, ...trail, method, route, status };
    if (status === 500) this.#failures.bug({ ...line, code: fault.code }, fault, fault.message);
    else this.#failures.refused(line, fault);
  }
}

/** Adds the headers that every answer has. */
function addCommonHeaders(headers: Headers, safety: Headers, exchange: Exchange | undefined): void {
  Object.assign(headers, safety);
  headers['x-request-id'] = exchange?.requestId ?? '';
  const trace = exchange?.trace;
  if (trace !== undefined) headers['traceparent'] = trace.traceparent;
}

/** Refusal reasons that occur by the thousand when a client floods an edge. */
const FLOODS: ReadonlySet<string> = new Set([
  'too_many_refused_keys',
  'too_many_refused_notifications',
  'too_many_unfinished_bodies',
]);

/** Whether a flood causes the refusal. Such a refusal is counted, but not logged as a failure. */
function isFlood({ reason, code }: Fault): boolean {
  // Anyone may send notifications to an installation without a payment provider.
  if (code === 'billing_provider_not_configured') return true;
  return reason !== undefined && FLOODS.has(reason);
}

/**
 * Returns a list of alternating names and values. Node writes this form without looking up each
 * name.
 */
function flat(headers: Headers): (string | number)[] {
  const list: (string | number)[] = [];
  for (const name of Object.keys(headers)) list.push(name, headers[name] ?? '');
  return list;
}

/** Default `Retry-After` for a 503, in seconds, unless the fault sets a wait. */
const RETRY_AFTER_S = 1;

/** Headers against content sniffing and shared caching, on every API answer. */
const SAFETY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'private, no-cache',
} as const;

/** A refusal as an HTTP answer, in the envelope from interface 7. */
type FaultReply = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
};

/**
 * A refusal's status, headers and envelope. No other code maps a Fault to HTTP. `requestId` appears
 * only in 5xx details.
 */
export function faultReply(fault: Fault, requestId: string): FaultReply {
  const status = fault.httpStatus;
  const headers: Headers = { 'content-type': 'application/json; charset=utf-8' };
  const retryAfterS = fault.retryAfterS ?? (status === 503 ? RETRY_AFTER_S : undefined);
  if (retryAfterS !== undefined) headers['retry-after'] = retryAfterS;
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  const body = {
    error: fault.code,
    message: fault.message,
    ...(status === 429 && retryAfterS !== undefined ? { retry_after: retryAfterS } : {}),
    ...detailsOf(fault, requestId),
  };
  return { status, headers, body: JSON.stringify(body) };
}

function detailsOf(fault: Fault, requestId: string) {
  const { field, reason, mode, firstCycle } = fault;
  const details = {
    ...(field === undefined ? {} : { field }),
    ...(reason === undefined ? {} : { reason }),
    ...(mode === undefined ? {} : { mode }),
    ...(firstCycle === undefined ? {} : { first_cycle: firstCycle }),
    ...(fault.code === 'rate_limited' ? { alias: 'rate_limit_exceeded' } : {}),
    ...(fault.httpStatus >= 500 ? { request_id: requestId } : {}),
  };
  return Object.keys(details).length === 0 ? {} : { details };
}

/**
 * A refusal with all answer headers, for requests that reach no hook. The answer has the limit
 * headers of an unknown caller (limiter-headers).
 */
export function anonymousReply(fault: Fault, requestId: string, nowMs: number): FaultReply {
  const { status, headers, body } = faultReply(fault, requestId);
  const all = {
    ...headers,
    ...unknownHeaders(nowMs),
    ...SAFETY_HEADERS,
    'x-request-id': requestId,
    'content-length': Buffer.byteLength(body),
  };
  return { status, headers: all, body };
}

/** An `anonymousReply` as raw HTTP, for broken requests without a response object. */
export function rawFaultReply(fault: Fault, requestId: string, nowMs: number): string {
  const { status, headers, body } = anonymousReply(fault, requestId, nowMs);
  const all = { ...headers, date: new Date(nowMs).toUTCString(), connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Methods with their own label value. All other methods share `_OTHER`. */
const COUNTED_METHODS = new Set(['GET', 'POST', 'PATCH', 'DELETE']);

/** Usual reasons why the limiter gives no answer. */
const FAIL_CLOSED_REASONS = ['limiter_unavailable', 'deadline_exceeded', 'overloaded'] as const;

/**
 * Failure statuses whose series are created at the start, like the series of each endpoint's
 * success.
 */
const SHOWN_FAILURES = [500, 503] as const;

/** Labels for the metric of an answer. `path` is a template. */
export type Counted = { readonly method: string; readonly path: string };

/**
 * Edge metrics in the process's registry.
 *
 * Label sets are bound once and cached. Each endpoint's success, 500 and 503 are bound at the
 * start, because Prometheus would miss a new series' first increment.
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
  const ofFleets = metrics.counter('edge_fleet_observations_total');
  for (const status of FLEET_STATUSES) ofFleets.inc({ status }, 0);
  return {
    /** Counts observations in fleet calls. */
    fleetCounted: (status: FleetStatus, count: number) => ofFleets.inc({ status }, count),
    ...admissionMetrics(metrics),
    ...connectionMetrics(metrics),
    /** Records an answer that was sent. `span` is the trace context, if the request is traced. */
    answered(counted: Counted, status: number, seconds: number, span?: string): void {
      seriesOf(counted, status).observe(seconds, span);
    },
    /** Sets how many complete requests have no answer yet. */
    active: (count: number) => active.set(count),
    /** Sets how many admitted calls have no answer yet. */
    inflight: (count: number) => inflight.set(count),
  };
}

/** Limiter call metrics. */
export function admissionMetrics(metrics: Metrics) {
  const checks = metrics.histogram('limiter_check_duration_seconds').labels({});
  const refusedUnasked = metrics.counter('edge_refused_unasked_total');
  const notLookedUp = metrics.counter('edge_unknown_keys_not_looked_up_total');
  const failures = metrics.counter('edge_fail_closed_total');
  // Create the series now, because Prometheus would miss a new series' first increment.
  for (const reason of FAIL_CLOSED_REASONS) failures.inc({ reason }, 0);
  const unsettled = metrics.counter('edge_unsettled_total');
  return {
    /** Records a limiter answer. */
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

/** Metrics for connections that send or read slowly. */
export function connectionMetrics(metrics: Metrics) {
  const bodiesGivenUp = metrics.counter('edge_bodies_given_up_total');
  const readersEnded = metrics.counter('edge_slow_readers_ended_total');
  const unfinished = metrics.gauge('edge_unfinished_bodies');
  const unfinishedBytes = metrics.gauge('edge_unfinished_body_bytes');
  const unreadBytes = metrics.gauge('edge_unread_answer_bytes');
  const waiting = metrics.gauge('edge_pipelined_requests');
  return {
    /** Counts a body that was evicted because too many bodies are unfinished. */
    bodyGivenUp: () => bodiesGivenUp.inc(),
    /** Counts a closed connection whose client did not read its answers. */
    slowReaderEnded: (cause: string) => readersEnded.inc({ cause }),
    /** Sets the counts for unfinished bodies and their bytes. */
    unfinished(count: number, bytes: number): void {
      unfinished.set(count);
      unfinishedBytes.set(bytes);
    },
    /** Sets the unread answer bytes. */
    unread: (bytes: number) => unreadBytes.set(bytes),
    /** Sets how many requests wait for earlier answers. */
    waiting: (count: number) => waiting.set(count),
  };
}

/** Event stream metrics. */
export function streamMetrics(metrics: Metrics) {
  const open = metrics.gauge('edge_event_streams');
  return {
    /** Sets how many streams are open. */
    open: (count: number) => open.set(count),
    /** Counts an ended stream, by cause. */
    ended: streamEnds(metrics),
  };
}

/** Counts ended event streams, by cause. */
export function streamEnds(metrics: Metrics): (cause: string) => void {
  const ended = metrics.counter('edge_event_streams_ended_total');
  return (cause) => ended.inc({ cause });
}

/** Label value for a method. */
export function countedMethod(method: string): string {
  return COUNTED_METHODS.has(method) ? method : '_OTHER';
}

/** Answer metrics. */
export type AnswerMetrics = Pick<ReturnType<typeof edgeMetrics>, 'answered'>;

/** Limiter call metrics. */
export type AdmissionMetrics = ReturnType<typeof admissionMetrics>;

/** Connection metrics. */
export type ConnectionMetrics = ReturnType<typeof connectionMetrics>;
