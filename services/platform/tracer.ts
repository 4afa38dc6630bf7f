import type { IncomingHttpHeaders } from 'node:http';

/**
 * What is known of a span. Names follow OpenTelemetry's conventions; never an account, a key or a text
 * of a user (decision 227).
 */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** How a span begins. */
export type SpanStart = {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'internal';
  readonly attributes?: SpanAttributes;
};

/** How a span ends. */
export type SpanEnd = {
  /** A better name than the first, where that is known only now: a request's route is. */
  readonly name?: string;
  readonly attributes?: SpanAttributes;
  /** The kind of failure, one of a closed set of words. */
  readonly error?: string | undefined;
};

/** A piece of work that is recorded. One that is never ended is never shown. */
export interface Span {
  /** Its context, for what happens on its behalf. */
  readonly traceparent: string;
  /** Ends it, once. */
  end(end?: SpanEnd): void;
}

/** A request as its edge traces it: always with a trace id, seldom recorded. */
export type RequestTrace = {
  /** What its answer, its log lines and the calls on its behalf carry. */
  readonly traceparent: string;
  /** Undefined where the trace is not recorded. */
  readonly span: Span | undefined;
};

/**
 * Records what happens at the borders, for a collector. Nothing of it waits or throws. Undefined in the
 * ports of a process whose operator has named no collector.
 */
export interface Tracer {
  /**
   * A request from outside with its headers, whatever they hold. The flag of a caller's trace is believed
   * unless the caller is refused already.
   */
  request(headers: IncomingHttpHeaders, isRefused?: boolean): RequestTrace;
  /** Work on behalf of a span; undefined where its trace is not recorded. */
  child(traceparent: string, start: SpanStart): Span | undefined;
  /**
   * Work on behalf of several recorded spans at once, one at least: linked to each of them, and shown
   * in the trace of the first.
   */
  ofMany(traceparents: readonly string[], start: SpanStart): Span;
  /** Work on no request's behalf, recorded as often as requests are. */
  work(start: SpanStart): Span | undefined;
  /** The same for what is rare and worth a look; undefined where an operator wants no spans at all. */
  rare(start: SpanStart): Span | undefined;
}
