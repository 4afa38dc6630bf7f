import { setTimeout as sleep } from 'node:timers/promises';

/** A span from Jaeger's query API. */
export type FoundSpan = {
  readonly traceId: string;
  readonly spanId: string;
  /** `service.name` from the recording process. */
  readonly service: string;
  readonly name: string;
  readonly parentId: string | undefined;
  /** Linked span ids. */
  readonly linkedIds: readonly string[];
  readonly tags: Readonly<Record<string, unknown>>;
  /** Start in Unix microseconds. */
  readonly startUs: number;
  /** Duration in microseconds. */
  readonly tookUs: number;
};

type Reference = { refType: string; spanID: string };
type JaegerSpan = {
  traceID: string;
  spanID: string;
  operationName: string;
  references: Reference[];
  startTime: number;
  duration: number;
  tags: { key: string; value: unknown }[];
  processID: string;
};
type JaegerTrace = { spans: JaegerSpan[]; processes: Record<string, { serviceName: string }> };

/** Polling interval, in milliseconds. */
const POLL_MS = 100;

/** Timeout in milliseconds; processes send spans once a second. */
const FOUND_MS_MAX = 20_000;

/**
 * Spans of a trace. Polls Jaeger until `isWhole` accepts the spans. After 20 s, returns the spans
 * found so far.
 */
export async function traceOf(
  jaeger: string,
  traceId: string,
  isWhole: (spans: readonly FoundSpan[]) => boolean,
): Promise<readonly FoundSpan[]> {
  return await untilFound(`${jaeger}/api/traces/${traceId}`, isWhole);
}

/**
 * Spans of all traces that have a span named `operation` from `service`. Polls Jaeger for up to 20
 * s, and then returns no spans.
 */
export async function tracesWith(
  jaeger: string,
  service: string,
  operation: string,
): Promise<readonly FoundSpan[]> {
  const query = new URLSearchParams({ service, operation, limit: '100', lookback: '1h' });
  return await untilFound(`${jaeger}/api/traces?${query}`, (spans) => spans.length > 0);
}

async function untilFound(
  url: string,
  isWhole: (spans: readonly FoundSpan[]) => boolean,
): Promise<readonly FoundSpan[]> {
  const endMs = performance.now() + FOUND_MS_MAX;
  for (;;) {
    const response = await fetch(url);
    const { data } = (await response.json()) as { data: JaegerTrace[] | null };
    const spans = (data ?? []).flatMap(spansIn);
    if (isWhole(spans) || performance.now() > endMs) return spans;
    await sleep(POLL_MS);
  }
}

function spansIn({ spans, processes }: JaegerTrace): FoundSpan[] {
  return spans.map((span) => {
    const ids = (kind: string) =>
      span.references.filter(({ refType }) => refType === kind).map(({ spanID }) => spanID);
    return {
      traceId: span.traceID,
      spanId: span.spanID,
      service: processes[span.processID]?.serviceName ?? '',
      name: span.operationName,
      parentId: ids('CHILD_OF')[0],
      linkedIds: ids('FOLLOWS_FROM'),
      tags: Object.fromEntries(span.tags.map(({ key, value }) => [key, value])),
      startUs: span.startTime,
      tookUs: span.duration,
    };
  });
}
