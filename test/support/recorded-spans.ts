import {
  type RequestTrace,
  type Span,
  type SpanAttributes,
  type SpanStart,
  type Tracer,
  traceparentOf,
} from '#telemetry/tracer';

/** An ended span with its links. */
type EndedSpan = {
  readonly name: string;
  readonly links: readonly string[];
  readonly attributes: SpanAttributes;
  readonly error: string | undefined;
};

/** `traceparent` for a recorded span in its own trace. `n` makes the value unique. */
export function recordedSpan(n: number): string {
  return traceparentOf(`${n}`.padStart(32, '0'), `${n}`.padStart(16, '0'), true);
}

/** A tracer that records every span. */
export class RecordedSpans implements Tracer {
  readonly ended: EndedSpan[] = [];
  #count = 1_000;

  request(): RequestTrace {
    const span = this.rare({ name: 'request', kind: 'server' });
    return { traceparent: span.traceparent, span };
  }

  child(traceparent: string, start: SpanStart): Span {
    return this.ofMany([traceparent], start);
  }

  work(start: SpanStart): Span {
    return this.rare(start);
  }

  rare(start: SpanStart): Span {
    return this.ofMany([], start);
  }

  ofMany(links: readonly string[], { name: first, attributes: begun }: SpanStart): Span {
    this.#count += 1;
    return {
      traceparent: recordedSpan(this.#count),
      end: ({ name = first, attributes, error } = {}) => {
        this.ended.push({ name, links, attributes: { ...begun, ...attributes }, error });
      },
    };
  }
}
