import type { Config } from '#config';
import { nodeNameOf } from '#startup/process/node-name';
import type { Clock } from '#stdlib/clock';
import { releaseOf } from '#stdlib/release';
import { COLLECTORS } from '#stdlib/variables';
import type { Logger } from '#telemetry/logger';
import type { Metrics } from '#telemetry/metrics';
import type { Sampling } from '#telemetry/otlp-tracer';
import type { Tracer } from '#telemetry/tracer';

/** Dependencies of tracing. */
type TracingPorts = {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
};

/**
 * Opens the tracer of a process. Undefined unless a collector is configured. The vendor's packages
 * are loaded only for a configured collector (decision 227).
 */
export async function openTracer(
  config: Config,
  service: string,
  { clock, logger, metrics }: TracingPorts,
): Promise<(Tracer & AsyncDisposable) | undefined> {
  const endpoint = COLLECTORS.map((name) => config[name]).find((url) => url !== undefined);
  const isOff = config.OTEL_SDK_DISABLED || config.OTEL_TRACES_EXPORTER === 'none';
  if (endpoint === undefined || isOff) return undefined;
  const [{ openOtlpTracer }, { SpanDelivery }] = await Promise.all([
    import('#telemetry/otlp-tracer'),
    import('#telemetry/span-delivery'),
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
  const { SERVICE_OTLP_ENDPOINT: own, OTEL_PROPAGATORS: propagators } = config;
  return openOtlpTracer({
    url: own === undefined ? undefined : `${own.replace(/\/$/, '')}/v1/traces`,
    headers: headersOf(config),
    sampling: samplingOf(config),
    hasPropagators: propagators !== undefined,
    resource: {
      'service.namespace': 'identity-engine',
      'service.name': `identity-${service}`,
      'service.version': releaseOf(),
      'service.instance.id': nodeNameOf(config),
    },
    clock,
    delivery,
  });
}

/**
 * Sampling settings from `OTEL_TRACES_SAMPLER`. By default, callers decide about their traces, and
 * the service samples a share of all other traces.
 */
function samplingOf(config: Config): Sampling {
  const { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share } = config;
  if (name === undefined) {
    return { ratio: config.SERVICE_TRACE_RATIO, followsCallers: true, hasRareWork: true };
  }
  const ratio = name.endsWith('on') ? 1 : name.endsWith('off') ? 0 : share;
  const followsCallers = name.startsWith('parentbased_');
  return { ratio, followsCallers, hasRareWork: ratio > 0 };
}

/** Parses headers written as `name=value`. */
function headersOf({ SERVICE_OTLP_HEADERS: pairs = [] }: Config): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}
