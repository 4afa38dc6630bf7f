import { randomFillSync } from 'node:crypto';
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

/** Bytes of a trace's id, of a span's, and of a chance. Source: W3C Trace Context, 3.2.2. */
const TRACE_BYTES = 16;
const SPAN_BYTES = 8;
const CHANCE_BYTES = 4;

/** Randomness is drawn in pieces of this many bytes, because one draw costs as much as a hundred. */
const POOL_BYTES = 8_192;

/** Draws the ids of traces and spans, and by chance which traces are recorded. */
export class TraceIds {
  readonly #pool = Buffer.alloc(POOL_BYTES);
  #used = POOL_BYTES;

  /** A trace's id, 32 lower-case hex digits. */
  readonly traceId = (): string => this.#hex(TRACE_BYTES);

  /** A span's id, 16 of them. */
  readonly spanId = (): string => this.#hex(SPAN_BYTES);

  /** True in this share of the calls, 0 to 1. */
  isChosen(ratio: number): boolean {
    return this.#pool.readUInt32BE(this.#take(CHANCE_BYTES)) < ratio * 2 ** 32;
  }

  // An id of zeros is none; it comes once in 2^64, and makes a span that is not shown.
  #hex(bytes: number): string {
    const from = this.#take(bytes);
    return this.#pool.toString('hex', from, from + bytes);
  }

  #take(bytes: number): number {
    if (this.#used + bytes > POOL_BYTES) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    const from = this.#used;
    this.#used += bytes;
    return from;
  }
}

/*
 * The context of a trace as W3C Trace Context 1.0 writes it, one text from a caller's header to the
 * journal: `00-<32 hex: trace>-<16 hex: span>-<2 hex: flags>`. Its parts are taken out where they are
 * needed, because nearly all requests need none.
 */

/** This version; and later ones, which may say more behind a fourth hyphen; `ff` is none. */
const PRESENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const LATER = /^(?!00|ff)[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;

/** Zeros are no ids. */
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);

/** Where the ids and flags stand. Source: W3C Trace Context, 3.2.2. */
const TRACE_AT = 3;
const TRACE_END = 35;
const SPAN_AT = 36;
const SPAN_END = 52;
const TRACEPARENT_LENGTH = 55;

/** The character codes of letters begin here, those of digits lie below. */
const A = 97;

/** The flag that says that the trace is recorded. */
const SAMPLED = 1;

/** The `traceparent` of this version in a header from outside; undefined for anything else. */
export function traceparentIn(text: string | readonly string[] | undefined): string | undefined {
  if (typeof text !== 'string') return undefined;
  const isPresent = PRESENT.test(text);
  if (!isPresent && !LATER.test(text)) return undefined;
  if (text.startsWith(NO_TRACE, TRACE_AT) || text.startsWith(NO_SPAN, SPAN_AT)) return undefined;
  return isPresent ? text : `00${text.slice(2, TRACEPARENT_LENGTH)}`;
}

/** A well-formed `traceparent` of these ids, lower-case hex. */
export function traceparentOf(traceId: string, spanId: string, isSampled: boolean): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** Whether the trace is recorded; of other flags nothing is used. */
export function isSampled(traceparent: string): boolean {
  const code = traceparent.charCodeAt(TRACEPARENT_LENGTH - 1);
  // The codes of digits are odd where the digits are, those of letters where they are even.
  return ((code >= A ? code + 1 : code) & SAMPLED) !== 0;
}

/** The id of the trace. */
export function traceIdOf(traceparent: string): string {
  return traceparent.slice(TRACE_AT, TRACE_END);
}

/** The id of the span that the context names. */
export function spanIdOf(traceparent: string): string {
  return traceparent.slice(SPAN_AT, SPAN_END);
}

/**
 * What a log line says of the trace it belongs to, by the names that OpenTelemetry gives the fields in
 * logs of any form; nothing without one.
 */
export function traceFields(traceparent: string | undefined): {
  readonly trace_id?: string;
  readonly span_id?: string;
} {
  if (traceparent === undefined) return {};
  return { trace_id: traceIdOf(traceparent), span_id: spanIdOf(traceparent) };
}

/** What may belong to a trace. Absent where tracing is off, so that nothing is carried about then. */
export type Traced = {
  /** The span that caused it, as W3C Trace Context writes it. */
  readonly traceparent?: string;
};

/** The same object, which the caller has just made, as part of a trace; as it is without one. */
export function traced<Message extends object>(
  message: Message,
  traceparent: string | undefined,
): Message & Traced {
  const sent: Message & { traceparent?: string } = message;
  // Not by Object.assign, which costs more than the rest of a call's making.
  if (traceparent !== undefined) sent.traceparent = traceparent;
  return sent as Message & Traced;
}

/**
 * Ends the span of an HTTP request, with what OpenTelemetry's conventions have for one; `route` is a
 * template. Path and address of the caller are left out: they name an instance, and a person.
 */
export function endRequestSpan(span: Span, method: string, route: string, status: number): void {
  span.end({
    name: `${method} ${route}`,
    attributes: {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      'url.scheme': 'http',
      'network.protocol.version': '1.1',
    },
    error: status >= 500 ? String(status) : undefined,
  });
}
