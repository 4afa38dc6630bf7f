import type { Config } from '#config';
import type { Clock } from '#platform/clock';
import type { Logger } from '#platform/logger';
import type { Metrics } from '#platform/metrics';
import { releaseOf } from '#platform/release';
import type { Tracer } from '#platform/tracer';
import { nodeNameOf } from '#process/node-name';

/** What tracing needs of its process. */
type TracingPorts = {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
};

/**
 * The tracer of a process; undefined unless an operator has named a collector. The vendor's packages are
 * loaded only then (decision 227).
 */
export async function openTracer(
  config: Config,
  service: string,
  { clock, logger, metrics }: TracingPorts,
): Promise<(Tracer & AsyncDisposable) | undefined> {
  const { SERVICE_OTLP_ENDPOINT: endpoint, SERVICE_TRACE_RATIO: ratio } = config;
  if (endpoint === undefined) return undefined;
  const [{ openOtlpTracer }, { SpanDelivery }] = await Promise.all([
    import('#platform/otlp-tracer'),
    import('#platform/span-delivery'),
  ]);
  const lost = metrics.counter('trace_spans_lost_total');
  const delivery = new SpanDelivery({
    clock,
    logger,
    endpoint,
    onLost: (spans) => lost.inc(spans),
  });
  const open = metrics.gauge('trace_spans_open');
  metrics.beforeScrape(() => open.set(delivery.open));
  const resource = {
    'service.namespace': 'identity-engine',
    'service.name': `identity-${service}`,
    'service.version': releaseOf(),
    'service.instance.id': nodeNameOf(config),
  };
  const headers = headersOf(config);
  return openOtlpTracer({ endpoint, headers, ratio, resource, clock, delivery });
}

/** `name=value` as an operator writes it. */
function headersOf({ SERVICE_OTLP_HEADERS: pairs = [] }: Config): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}
