import { readContent } from '#stdlib/files';
import { namesCollector } from '#stdlib/variables';

/**
 * Variables that name files for OpenTelemetry's exporter, as pairs: the variable for traces, then
 * the general variable, which has lower precedence. The exporter ignores a file that it cannot read
 * and then exports nothing. Separate from `otlp-tracer.ts`, so that reading the configuration does
 * not load the OpenTelemetry SDK.
 */
const VARIABLES = ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY'].map(
  (what) => [`OTEL_EXPORTER_OTLP_TRACES_${what}`, `OTEL_EXPORTER_OTLP_${what}`] as const,
);

/**
 * Throws a one-line error if any of these files cannot be read. Does nothing if no collector is
 * configured.
 */
export function assertExporterFiles(
  environment: Readonly<Record<string, string | undefined>>,
): void {
  if (!namesCollector(environment)) return;
  for (const names of VARIABLES) {
    const variable = names.find((name) => (environment[name] ?? '').trim() !== '');
    if (variable === undefined) continue;
    const path = environment[variable] ?? '';
    const content = readContent(path);
    if (typeof content === 'string') throw new Error(`${variable}: ${path} ${content}`);
  }
}
