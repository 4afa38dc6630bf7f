import {
  type Context,
  DiagLogLevel,
  diag,
  type Span as OtelSpan,
  type Tracer as OtelTracer,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { type Clock, withinMs } from '#platform/clock';
import { PerSecond } from '#platform/per-second';
import { SPANS_HELD_MAX, type SpanDelivery } from '#platform/span-delivery';
import { TraceIds } from '#platform/trace-ids';
import {
  isSampled,
  spanIdOf,
  traceIdOf,
  traceparentIn,
  traceparentOf,
} from '#platform/traceparent';
import type {
  RequestTrace,
  Span,
  SpanAttributes,
  SpanEnd,
  SpanStart,
  Tracer,
} from '#platform/tracer';

/** What a tracer that speaks OTLP is made of. */
export type OtlpTracerOptions = {
  /** Where the collector takes OTLP by HTTP, without a path of its own. */
  readonly endpoint: string;
  /** What the collector is asked with besides, by name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Share of the requests that are recorded, 0 to 1. */
  readonly ratio: number;
  /** What the spans are of: `service.name` and the like. */
  readonly resource: SpanAttributes;
  readonly clock: Clock;
  readonly delivery: SpanDelivery;
};

/** Spans of one message to the collector: making it takes a millisecond of the event loop. */
const BATCH_SPANS_MAX = 256;

/** How long spans gather, in milliseconds. */
const GATHER_MS = 1_000;

/** How long the collector may take for a message, further tries included, in milliseconds. */
const DELIVERY_MS_MAX = 5_000;

/** How long a process that ends waits for the collector to take the last spans, in milliseconds. */
const LAST_DELIVERY_MS_MAX = 2_000;

/**
 * Traces a second that are recorded because callers ask for it: their flag is believed so far, and
 * must not let them fill the collector. Chosen.
 */
const ASKED_PER_SECOND_MAX = 100;

/** Links of one span: a group of the journal carries up to 4,096 records. */
const LINKS_MAX = 256;

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
} as const;

/** How the exporter begins when a collector takes a message in part; what it says follows as JSON. */
const PARTIAL_SUCCESS = /^Received Partial Success response/;

/** A tracer that sends what it records to a collector; disposing it sends the rest. */
export function openOtlpTracer(options: OtlpTracerOptions): Tracer & AsyncDisposable {
  const { endpoint, headers, clock, delivery, resource } = options;
  hearRefusals(delivery);
  const ids = new TraceIds();
  const url = `${endpoint.replace(/\/$/, '')}/v1/traces`;
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: DELIVERY_MS_MAX,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ ...resource }),
    // What is started is recorded: that is decided before, so that the rest costs nothing here.
    sampler: new AlwaysOnSampler(),
    idGenerator: { generateTraceId: ids.traceId, generateSpanId: ids.spanId },
    spanLimits: { linkCountLimit: LINKS_MAX },
    spanProcessors: [boundedProcessor(watchedExporter(exporter, clock, delivery), delivery)],
  });
  const close = async () => {
    await withinMs(clock, LAST_DELIVERY_MS_MAX, provider.shutdown()).catch(() => undefined);
  };
  const tracer = new OtlpTracer(provider.getTracer('identity-engine'), ids, options);
  return Object.assign(tracer, { [Symbol.asyncDispose]: close });
}

/**
 * The exporter reports refused spans by the vendor's own log, of which there is one in a process, and
 * takes the message for delivered.
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

/** Says of every message what became of it, and ends the wait for one that takes too long. */
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
          else reject(error ?? new Error('the collector refuses them'));
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
  readonly #ratio: number;
  readonly #asked: PerSecond;

  constructor(tracer: OtelTracer, ids: TraceIds, { ratio, clock }: OtlpTracerOptions) {
    this.#tracer = tracer;
    this.#ids = ids;
    this.#ratio = ratio;
    this.#asked = new PerSecond(clock, ASKED_PER_SECOND_MAX);
  }

  request(header: string | undefined, isRefused = false): RequestTrace {
    const parent = traceparentIn(header);
    if (!this.#isRecorded(parent, isRefused)) {
      const traceId = parent === undefined ? this.#ids.traceId() : traceIdOf(parent);
      return { traceparent: traceparentOf(traceId, this.#ids.spanId(), false), span: undefined };
    }
    const context = parent === undefined ? ROOT_CONTEXT : contextOf(parent);
    const span = this.#begin({ name: 'request', kind: 'server' }, context);
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
    return this.#ids.isChosen(this.#ratio) ? this.#begin(start, ROOT_CONTEXT) : undefined;
  }

  rare(start: SpanStart): Span {
    return this.#begin(start, ROOT_CONTEXT);
  }

  #isRecorded(parent: string | undefined, isRefused: boolean): boolean {
    if (parent !== undefined && !isSampled(parent)) return false;
    const isBelieved = parent !== undefined && !isRefused && this.#asked.take();
    // A caller that asks too often is not traced less than one that does not ask.
    return isBelieved || this.#ids.isChosen(this.#ratio);
  }

  #begin(
    { name, kind, attributes = {} }: SpanStart,
    context: Context,
    linked: readonly string[] = [],
  ): Span {
    const links = linked.map((one) => ({ context: spanContextOf(one) }));
    const options = { kind: KINDS[kind], attributes: { ...attributes }, links };
    return new OtlpSpan(this.#tracer.startSpan(name, options, context));
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
