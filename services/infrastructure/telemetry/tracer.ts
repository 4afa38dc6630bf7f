import { randomFillSync } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/**
 * Attributes of a span. Names follow OpenTelemetry's conventions. Values never contain an account,
 * a key or a user's text (decision 227).
 */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** Name and kind of a new span. */
export type SpanStart = {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'internal';
  readonly attributes?: SpanAttributes;
};

/** Final data of a span. */
export type SpanEnd = {
  /** New name of the span, if a better name is known at the end, for example with the route. */
  readonly name?: string;
  readonly attributes?: SpanAttributes;
  /** Kind of failure, from a closed set. */
  readonly error?: string | undefined;
};

/** Recorded unit of work. A span that is never ended is never exported. */
export interface Span {
  /** Trace context for the work within the span. */
  readonly traceparent: string;
  /** Ends the span. Must be called only once. */
  end(end?: SpanEnd): void;
}

/** Trace of a request at the edge. Always has a trace id, but is rarely recorded. */
export type RequestTrace = {
  /** Trace context for the response, log lines and calls of the request. */
  readonly traceparent: string;
  /** Span of the request. Undefined if the trace is not recorded. */
  readonly span: Span | undefined;
};

/**
 * Records spans for a collector. Its methods never block or throw. The tracer is undefined in the
 * ports of a process without a configured collector.
 */
export interface Tracer {
  /**
   * Begins the trace of a request from outside. The headers may contain anything. The sampled flag
   * of the caller's trace is honoured unless `isRefused`.
   */
  request(headers: IncomingHttpHeaders, isRefused?: boolean): RequestTrace;
  /** Begins a span within a trace. Undefined if the trace is not recorded. */
  child(traceparent: string, start: SpanStart): Span | undefined;
  /**
   * Begins a span for one or more recorded spans. The new span links to all of them and belongs to
   * the trace of the first.
   */
  ofMany(traceparents: readonly string[], start: SpanStart): Span;
  /** Begins a span for work without a request, sampled like requests. */
  work(start: SpanStart): Span | undefined;
  /** Begins a span for rare work, always recorded. Undefined if tracing of rare work is off. */
  rare(start: SpanStart): Span | undefined;
}

/** Bytes of a trace id. Source: W3C Trace Context, 3.2.2. */
export const TRACE_BYTES = 16;

/** Bytes of a span id and a sampling decision. Source: W3C Trace Context, 3.2.2. */
const SPAN_BYTES = 8;
const CHANCE_BYTES = 4;

/**
 * Number of random bytes drawn in one step, and converted to hex digits in one step. Drawing only
 * the bytes of one id would cost as much as a hundred ids from the pool.
 */
const POOL_BYTES = 4_096;

/** Generates trace and span ids, and random sampling decisions. */
export class TraceIds {
  readonly #pool = Buffer.alloc(POOL_BYTES);
  /** The pool as lower-case hex digits. */
  #digits = '';
  #used = POOL_BYTES;

  /** Trace id, 32 lower-case hex digits. */
  readonly traceId = (): string => this.#hex(TRACE_BYTES);

  /** Span id, 16 lower-case hex digits. */
  readonly spanId = (): string => this.#hex(SPAN_BYTES);

  /** Returns true with probability `ratio`, 0 to 1. */
  isChosen(ratio: number): boolean {
    return this.#pool.readUInt32BE(this.#take(CHANCE_BYTES)) < ratio * 2 ** 32;
  }

  // An id of zeros is invalid. It occurs once in 2^64 times and only makes a span invisible.
  #hex(bytes: number): string {
    const from = this.#take(bytes);
    return this.#digits.slice(2 * from, 2 * (from + bytes));
  }

  #take(bytes: number): number {
    if (this.#used + bytes > POOL_BYTES) {
      this.#digits = randomFillSync(this.#pool).toString('hex');
      this.#used = 0;
    }
    const from = this.#used;
    this.#used += bytes;
    return from;
  }
}

/*
 * Trace context in the format of W3C Trace Context 1.0, kept as a text from the caller's header to
 * the journal: `00-<32 hex: trace>-<16 hex: span>-<2 hex: flags>`. The text is parsed only where
 * needed, because nearly all requests need no part of it.
 *
 * A process that receives a call of an unrecorded trace needs only the trace id, for log lines about
 * failures. Such a trace context is packed: the 16 bytes of the trace id as eight characters.
 */

/** Header of version 00. */
const PRESENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
/** Header of a later version, which may add data after a fourth hyphen. `ff` is invalid. */
const LATER = /^(?!00|ff)[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;

/** Ids of zeros are invalid. */
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);

/** Offsets of the ids and flags. Source: W3C Trace Context, 3.2.2. */
const TRACE_AT = 3;
const TRACE_END = 35;
const SPAN_AT = 36;
const SPAN_END = 52;
const TRACEPARENT_LENGTH = 55;

/** Lowest character code of a hex letter. The codes of digits are lower. */
const A = 97;
/** Character code of the digit 0. */
const ZERO = 48;

/** Number of characters of a packed trace context. */
const PACKED_LENGTH = 8;

/** Flag bit that marks a recorded trace. */
const SAMPLED = 1;

/** Validates a `traceparent` header and converts it to this version. Undefined if invalid. */
export function traceparentIn(text: string | readonly string[] | undefined): string | undefined {
  if (typeof text !== 'string') return undefined;
  const isPresent = PRESENT.test(text);
  if (!isPresent && !LATER.test(text)) return undefined;
  if (text.startsWith(NO_TRACE, TRACE_AT) || text.startsWith(NO_SPAN, SPAN_AT)) return undefined;
  return isPresent ? text : `00${text.slice(2, TRACEPARENT_LENGTH)}`;
}

/** Formats a `traceparent`. The ids are lower-case hex. */
export function traceparentOf(traceId: string, spanId: string, isSampled: boolean): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** Whether the trace is recorded. Other flags are ignored. Packed trace contexts are unrecorded. */
export function isSampled(traceparent: string): boolean {
  if (traceparent.length !== TRACEPARENT_LENGTH) return false;
  const code = traceparent.charCodeAt(TRACEPARENT_LENGTH - 1);
  // For 0-9, the low bit of the character code equals the low bit of the digit. For a-f it is
  // inverted.
  return ((code >= A ? code + 1 : code) & SAMPLED) !== 0;
}

/** Trace id of a trace context, also of a packed one. */
export function traceIdOf(traceparent: string): string {
  if (traceparent.length !== PACKED_LENGTH) return traceparent.slice(TRACE_AT, TRACE_END);
  const bytes = Buffer.alloc(TRACE_BYTES);
  putTraceId(traceparent, bytes);
  return bytes.toString('hex');
}

/** Span id of a trace context. */
export function spanIdOf(traceparent: string): string {
  return traceparent.slice(SPAN_AT, SPAN_END);
}

/** Packed trace context from the 16 bytes of a trace id. */
export function packedOf(bytes: Uint8Array): string {
  const pair = (at: number) => ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
  const [a, b, c, d] = [pair(0), pair(2), pair(4), pair(6)];
  return String.fromCharCode(a, b, c, d, pair(8), pair(10), pair(12), pair(14));
}

/** Writes the 16 bytes of the trace id of a trace context, also of a packed one. */
export function putTraceId(traceparent: string, bytes: Uint8Array): void {
  if (traceparent.length === PACKED_LENGTH) {
    for (let at = 0; at < TRACE_BYTES; at += 1) {
      bytes[at] = traceparent.charCodeAt(at >> 1) >> (at % 2 === 0 ? 8 : 0);
    }
    return;
  }
  for (let at = 0; at < TRACE_BYTES; at += 1) {
    const high = digitOf(traceparent.charCodeAt(TRACE_AT + 2 * at));
    bytes[at] = (high << 4) | digitOf(traceparent.charCodeAt(TRACE_AT + 2 * at + 1));
  }
}

/** Value of a lower-case hex digit. */
function digitOf(code: number): number {
  return code >= A ? code - A + 10 : code - ZERO;
}

/**
 * Trace fields of a log line, with OpenTelemetry's names for logs in any format. Empty without a
 * trace context. A packed trace context has no span id.
 */
export function traceFields(traceparent: string | undefined): {
  readonly trace_id?: string;
  readonly span_id?: string;
} {
  if (traceparent === undefined) return {};
  const trace_id = traceIdOf(traceparent);
  if (traceparent.length === PACKED_LENGTH) return { trace_id };
  return { trace_id, span_id: spanIdOf(traceparent) };
}

/** Optional trace context of a message. Absent if tracing is off, to avoid its cost. */
export type Traced = {
  /** Span that caused the message, in W3C Trace Context format. */
  readonly traceparent?: string;
};

/**
 * Adds a trace context to a message that the caller has just created, and returns the same message.
 * If `traceparent` is undefined, the message stays unchanged.
 */
export function traced<Message extends object>(
  message: Message,
  traceparent: string | undefined,
): Message & Traced {
  const sent: Message & { traceparent?: string } = message;
  // Not Object.assign, which costs more than the rest of creating a call.
  if (traceparent !== undefined) sent.traceparent = traceparent;
  return sent as Message & Traced;
}

/**
 * Ends an HTTP request's span with the attributes of OpenTelemetry's conventions. `route` is a
 * template. The caller's path and address are left out, because they identify an instance and a
 * person.
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
