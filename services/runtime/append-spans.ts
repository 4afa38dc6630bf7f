import { isSampled } from '#platform/traceparent';
import type { Span, Tracer } from '#platform/tracer';

/** A record of a recorded trace that no append has taken yet. */
type TracedRecord = { readonly offset: number; readonly traceparent: string };

/** Records that are remembered: a group holds 4,096, of which seldom more than some are traced. */
const RECORDS_MAX = 1_024;

/** Knows which spans committed the records of a group, so that its append is linked to them. */
export class AppendSpans {
  readonly #tracer: Tracer;
  readonly #service: string;
  #waiting: TracedRecord[] = [];

  /** `service` is whose journal it is. */
  constructor(tracer: Tracer, service: string) {
    this.#tracer = tracer;
    this.#service = service;
  }

  /** A span has committed the record at `offset`; offsets grow. */
  committed(offset: number, traceparent: string): void {
    if (!isSampled(traceparent) || this.#waiting.length >= RECORDS_MAX) return;
    this.#waiting.push({ offset, traceparent });
  }

  /** The span of an append that takes `records` up to `offset`; undefined where none is traced. */
  begin(records: number, offset: number): Span | undefined {
    if (this.#waiting.length === 0) return undefined;
    const taken = this.#waiting.filter((record) => record.offset <= offset);
    if (taken.length === 0) return undefined;
    this.#waiting = this.#waiting.slice(taken.length);
    const attributes = { 'identity.service': this.#service, 'identity.journal.records': records };
    const links = [...new Set(taken.map(({ traceparent }) => traceparent))];
    return this.#tracer.ofMany(links, { name: 'journal append', kind: 'internal', attributes });
  }

  /** Forgets what no append will take. */
  clear(): void {
    this.#waiting = [];
  }
}
