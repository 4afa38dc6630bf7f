import { isSampled } from '#platform/traceparent';
import type { Span, Tracer } from '#platform/tracer';

/** Records of one recorded span, one behind the other, that no append has taken yet. */
type TracedRecords = { readonly from: number; to: number; readonly traceparent: string };

/** Such runs that are remembered: a group holds 4,096 records, of which few are traced. */
const RUNS_MAX = 1_024;

/** Knows which spans committed the records of a group, so that its append is linked to them. */
export class AppendSpans {
  readonly #tracer: Tracer;
  readonly #service: string;
  #waiting: TracedRecords[] = [];

  /** `service` is whose journal it is. */
  constructor(tracer: Tracer, service: string) {
    this.#tracer = tracer;
    this.#service = service;
  }

  /** A span has committed the record at `offset`; offsets grow. */
  committed(offset: number, traceparent: string): void {
    if (!isSampled(traceparent)) return;
    const last = this.#waiting.at(-1);
    // A takeover's records are all of one span, and must not crowd out those of calls.
    if (last?.traceparent === traceparent && last.to === offset - 1) last.to = offset;
    else if (this.#waiting.length < RUNS_MAX) {
      this.#waiting.push({ from: offset, to: offset, traceparent });
    }
  }

  /** The span of an append that takes `records` up to `offset`; undefined where none is traced. */
  begin(records: number, offset: number): Span | undefined {
    if (this.#waiting.length === 0) return undefined;
    const taken = this.#waiting.filter(({ from }) => from <= offset);
    if (taken.length === 0) return undefined;
    const left = this.#waiting.filter(({ to }) => to > offset);
    this.#waiting = left.map((run) => ({ ...run, from: Math.max(run.from, offset + 1) }));
    const attributes = { 'identity.service': this.#service, 'identity.journal.records': records };
    const links = [...new Set(taken.map(({ traceparent }) => traceparent))];
    return this.#tracer.ofMany(links, { name: 'journal append', kind: 'internal', attributes });
  }

  /** Forgets what no append will take. */
  clear(): void {
    this.#waiting = [];
  }
}
