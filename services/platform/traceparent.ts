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
