import type { IncomingHttpHeaders } from 'node:http';
import {
  type Context,
  context,
  DiagLogLevel,
  diag,
  isSpanContextValid,
  logs,
  type Span as OtelSpan,
  type Tracer as OtelTracer,
  propagation,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { NodeSDK } from '@opentelemetry/sdk-node';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type ReadableSpan,
  type Sampler,
  SamplingDecision,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import { type Clock, PerSecond, withinMs } from '#stdlib/clock';
import { SPANS_HELD_MAX, type SpanDelivery } from '#telemetry/span-delivery';
import {
  isSampled,
  type RequestTrace,
  type Span,
  type SpanAttributes,
  type SpanEnd,
  type SpanStart,
  spanIdOf,
  TraceIds,
  type Tracer,
  traceIdOf,
  traceparentIn,
  traceparentOf,
} from '#telemetry/tracer';

/** Sampling of requests from outside. */
export type Sampling = {
  /** Share of the traces beginning in this process that are recorded, 0 to 1. */
  readonly ratio: number;
  /**
   * Whether the sampled flag in a caller's context decides for the caller's trace. Otherwise the
   * trace id decides by `ratio`. All services with this sampler then record the same traces.
   */
  readonly followsCallers: boolean;
  /** Whether rare work, for example a takeover, is always recorded. */
  readonly hasRareWork: boolean;
};

/** Options of a tracer that exports spans with OTLP. */
export type OtlpTracerOptions = {
  /** Collector's URL for traces. Undefined to use OpenTelemetry's own variables. */
  readonly url: string | undefined;
  /** Headers for the collector, in addition to headers from OpenTelemetry's variables. */
  readonly headers: Readonly<Record<string, string>>;
  readonly sampling: Sampling;
  /** Whether `OTEL_PROPAGATORS` defines the headers with callers' trace contexts. */
  readonly hasPropagators: boolean;
  /**
   * Resource attributes of the spans, such as `service.name`. OpenTelemetry's variables take
   * precedence.
   */
  readonly resource: SpanAttributes;
  readonly clock: Clock;
  readonly delivery: SpanDelivery;
};

/**
 * Maximum number of spans per export. Encoding this number takes a millisecond of the event loop.
 */
const BATCH_SPANS_MAX = 256;

/** Time to collect spans for an export, in milliseconds. */
const GATHER_MS = 1_000;

/** Timeout of an export including retries, in milliseconds. */
const DELIVERY_MS_MAX = 5_000;

/** Maximum wait of a closing process for the last export, in milliseconds. */
const LAST_DELIVERY_MS_MAX = 2_000;

/**
 * Maximum number of traces per second that are recorded because callers request it. Above this rate
 * the callers' flag is ignored, so that callers cannot fill the collector.
 */
const ASKED_PER_SECOND_MAX = 100;

/** Maximum number of links per span. A group commit of the journal has up to 4,096 records. */
const LINKS_MAX = 256;

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
} as const;

/**
 * Start of the exporter's log line when a collector accepts an export only in part. The collector's
 * response follows as JSON.
 */
const PARTIAL_SUCCESS = /^Received Partial Success response/;

/** Opens a tracer that exports spans to a collector. Disposing exports the remaining spans. */
export function openOtlpTracer(options: OtlpTracerOptions): Tracer & AsyncDisposable {
  const { url, headers, clock, delivery, resource } = options;
  const ids = new TraceIds();
  const exporter = new OTLPTraceExporter({
    ...(url === undefined ? {} : { url }),
    headers: { ...headers },
    timeoutMillis: DELIVERY_MS_MAX,
  });
  const sdk = new NodeSDK({
    resource: resourceFromAttributes({ ...resource }),
    // Only resource attributes from the environment, and none about the machine or command lines.
    resourceDetectors: [envDetector],
    // Records every started span. Sampling is decided earlier, so that unsampled requests cost
    // nothing here.
    sampler: new AlwaysOnSampler(),
    idGenerator: { generateTraceId: ids.traceId, generateSpanId: ids.spanId },
    spanLimits: { linkCountLimit: LINKS_MAX },
    spanProcessors: [boundedProcessor(watchedExporter(exporter, clock, delivery), delivery)],
    metricReaders: [],
    logRecordProcessors: [],
  });
  // Must follow the constructor, which sets a logger by `OTEL_LOG_LEVEL`.
  hearRefusals(delivery);
  sdk.start();
  const tracer = new OtlpTracer(trace.getTracer('identity-engine'), ids, options);
  const close = async () => {
    await withinMs(clock, LAST_DELIVERY_MS_MAX, sdk.shutdown()).catch(() => undefined);
    // These globals exist once per process, and another tracer may need them.
    for (const place of [trace, propagation, context, logs]) place.disable();
  };
  return Object.assign(tracer, { [Symbol.asyncDispose]: close });
}

/**
 * Counts spans that the collector rejects. The exporter reports them only to OpenTelemetry's global
 * logger, and treats the export as delivered.
 */
function hearRefusals(delivery: SpanDelivery): void {
  const quiet = () => undefined;
  const warn = (text: string, said?: unknown) => {
    if (!PARTIAL_SUCCESS.test(text) || typeof said !== 'string') return;
    const { rejectedSpans = 0, errorMessage = '' } = JSON.parse(said);
    delivery.refused(Number(rejectedSpans), String(errorMessage));
  };
  const log = { error: quiet, warn, info: quiet, debug: quiet, verbose: quiet };
  diag.setLogger(log, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

/** Wraps an exporter: reports the outcome of every export, and limits its duration. */
function watchedExporter(
  exporter: SpanExporter,
  clock: Clock,
  delivery: SpanDelivery,
): SpanExporter {
  return {
    export(spans, done) {
      const sent = new Promise<void>((resolve, reject) => {
        exporter.export(spans, ({ code, error }) => {
          if (code === 0) resolve();
          else reject(error ?? new Error('the collector refuses the spans'));
        });
      });
      withinMs(clock, DELIVERY_MS_MAX, sent)
        .then(
          () => delivery.delivered(spans.length),
          (error: unknown) => delivery.failed(spans.length, error),
        )
        .finally(() => done({ code: 0 }));
    },
    shutdown: () => exporter.shutdown(),
  };
}

function boundedProcessor(exporter: SpanExporter, delivery: SpanDelivery): SpanProcessor {
  const batches = new BatchSpanProcessor({
    exporter,
    maxQueueSize: SPANS_HELD_MAX,
    maxExportBatchSize: BATCH_SPANS_MAX,
    scheduledDelayMillis: GATHER_MS,
    exportTimeoutMillis: 2 * DELIVERY_MS_MAX,
  });
  return {
    onStart: () => delivery.begin(),
    onEnd(span: ReadableSpan) {
      if (delivery.end()) batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
}

class OtlpTracer implements Tracer {
  readonly #tracer: OtelTracer;
  readonly #ids: TraceIds;
  readonly #sampling: Sampling;
  readonly #byId: Sampler;
  readonly #hasPropagators: boolean;
  readonly #asked: PerSecond;

  constructor(tracer: OtelTracer, ids: TraceIds, options: OtlpTracerOptions) {
    const { sampling, hasPropagators, clock } = options;
    this.#tracer = tracer;
    this.#ids = ids;
    this.#sampling = sampling;
    this.#byId = new TraceIdRatioBasedSampler(sampling.ratio);
    this.#hasPropagators = hasPropagators;
    this.#asked = new PerSecond(clock, ASKED_PER_SECOND_MAX);
  }

  request(headers: IncomingHttpHeaders, isRefused = false): RequestTrace {
    const parent = this.#parentIn(headers);
    if (!this.#isRecorded(parent, isRefused)) {
      const traceId = parent === undefined ? this.#ids.traceId() : traceIdOf(parent);
      return { traceparent: traceparentOf(traceId, this.#ids.spanId(), false), span: undefined };
    }
    const around = parent === undefined ? ROOT_CONTEXT : contextOf(parent);
    const span = this.#begin({ name: 'request', kind: 'server' }, around);
    return { traceparent: span.traceparent, span };
  }

  child(traceparent: string, start: SpanStart): Span | undefined {
    return isSampled(traceparent) ? this.#begin(start, contextOf(traceparent)) : undefined;
  }

  ofMany(traceparents: readonly string[], start: SpanStart): Span {
    const [first = ''] = traceparents;
    return this.#begin(start, contextOf(first), traceparents);
  }

  work(start: SpanStart): Span | undefined {
    return this.#ids.isChosen(this.#sampling.ratio) ? this.#begin(start, ROOT_CONTEXT) : undefined;
  }

  rare(start: SpanStart): Span | undefined {
    return this.#sampling.hasRareWork ? this.#begin(start, ROOT_CONTEXT) : undefined;
  }

  /** Trace context in a caller's headers. Undefined without a valid context. */
  #parentIn(headers: IncomingHttpHeaders): string | undefined {
    // Takes a fifth of the propagator's time, because the propagator creates a context object per
    // request.
    if (!this.#hasPropagators) return traceparentIn(headers['traceparent']);
    const span = trace.getSpanContext(propagation.extract(ROOT_CONTEXT, headers));
    if (span === undefined || !isSpanContextValid(span)) return undefined;
    return traceparentOf(span.traceId, span.spanId, (span.traceFlags & TraceFlags.SAMPLED) !== 0);
  }

  #isRecorded(parent: string | undefined, isRefused: boolean): boolean {
    const { ratio, followsCallers } = this.#sampling;
    if (parent === undefined) return this.#ids.isChosen(ratio);
    if (!followsCallers) return this.#isRecordedById(traceIdOf(parent));
    if (!isSampled(parent)) return false;
    const isBelieved = !isRefused && this.#asked.take();
    // A caller above the limit is sampled like a caller without the flag.
    return isBelieved || this.#ids.isChosen(ratio);
  }

  #isRecordedById(traceId: string): boolean {
    const { decision } = this.#byId.shouldSample(
      ROOT_CONTEXT,
      traceId,
      '',
      SpanKind.SERVER,
      {},
      [],
    );
    return decision === SamplingDecision.RECORD_AND_SAMPLED;
  }

  #begin(
    { name, kind, attributes = {} }: SpanStart,
    around: Context,
    linked: readonly string[] = [],
  ): Span {
    const links = linked.map((one) => ({ context: spanContextOf(one) }));
    const options = { kind: KINDS[kind], attributes: { ...attributes }, links };
    return new OtlpSpan(this.#tracer.startSpan(name, options, around));
  }
}

class OtlpSpan implements Span {
  readonly traceparent: string;
  readonly #span: OtelSpan;

  constructor(span: OtelSpan) {
    const { traceId, spanId } = span.spanContext();
    this.#span = span;
    this.traceparent = traceparentOf(traceId, spanId, true);
  }

  end({ name, attributes, error }: SpanEnd = {}): void {
    if (name !== undefined) this.#span.updateName(name);
    if (attributes !== undefined) this.#span.setAttributes({ ...attributes });
    if (error !== undefined) {
      this.#span.setAttribute('error.type', error);
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}

function contextOf(traceparent: string): Context {
  return trace.setSpanContext(ROOT_CONTEXT, spanContextOf(traceparent));
}

function spanContextOf(traceparent: string): SpanContext {
  return {
    traceId: traceIdOf(traceparent),
    spanId: spanIdOf(traceparent),
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  };
}
