import { z } from 'zod';
import { collector } from '#platform/variable-values';

const protocol = z
  .enum(['http/protobuf'], 'must be http/protobuf: the service speaks no other')
  .default('http/protobuf')
  .describe('How the collector is spoken to; `http/protobuf` alone is known.');

/**
 * Variables of OpenTelemetry that this service reads itself. The SDK reads further ones: headers,
 * certificates, the name of the service, attributes of the resource. A blank value is none. Source:
 * OpenTelemetry, environment variable specification.
 */
export const OTEL_VARIABLES = {
  OTEL_SDK_DISABLED: z
    .string()
    .default('false')
    .transform((text) => text.toLowerCase() === 'true')
    .describe('`true`: nothing is traced, whatever the other variables say.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.describe(
    'Like `SERVICE_OTLP_ENDPOINT`, which is stronger.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: collector.describe(
    'Where a collector takes traces, the whole path included. Stronger than `OTEL_EXPORTER_OTLP_ENDPOINT`.',
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol,
  OTEL_TRACES_EXPORTER: z
    .enum(['otlp', 'none'])
    .default('otlp')
    .describe('`none`: nothing is traced.'),
  OTEL_TRACES_SAMPLER: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .optional()
    .describe(
      'Which requests are traced, instead of `SERVICE_TRACE_RATIO`. `parentbased_…` follows callers who send a context; the others do not.',
    ),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number('must be a number from 0 to 1')
    .min(0, 'must be a number from 0 to 1')
    .max(1, 'must be a number from 0 to 1')
    .default(1)
    .describe('Share of the traces that `traceidratio` and `parentbased_traceidratio` record.'),
  OTEL_PROPAGATORS: z
    .string()
    .transform((text) => text.split(',').map((name) => name.trim()))
    .pipe(z.array(z.enum(['tracecontext', 'baggage', 'b3', 'b3multi', 'none'])))
    .optional()
    .describe(
      'Headers in which callers name their traces: `tracecontext`, `b3`, `b3multi`, several with commas between, or `none`. `baggage` is read and not used. Left out: `tracecontext`.',
    ),
} as const;

/** Variables that name a collector, the strongest first. */
export const COLLECTORS = [
  'SERVICE_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
] as const;

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * The environment without those variables of OpenTelemetry that mean nothing here: blank ones, and all
 * where no collector is named. A platform sets them for other programs too.
 */
export function meantVariables(environment: Variables): Variables {
  const isOn = namesCollector(environment);
  const meant = Object.entries(environment).filter(
    ([name, value = '']) => !name.startsWith('OTEL_') || (isOn && value.trim() !== ''),
  );
  return Object.fromEntries(meant);
}

/** Whether spans go somewhere. */
export function namesCollector(environment: Variables): boolean {
  return COLLECTORS.some((name) => (environment[name] ?? '').trim() !== '');
}
