import { readContent } from '#platform/files';
import { namesCollector } from '#platform/variables';

/**
 * What OpenTelemetry's exporter reads of files that its own variables name, each of the variable for traces
 * before the one for everything. It goes on without a file that it cannot read, and delivers nothing.
 */
const VARIABLES = ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY'].map(
  (what) => [`OTEL_EXPORTER_OTLP_TRACES_${what}`, `OTEL_EXPORTER_OTLP_${what}`] as const,
);

/** Throws an error of one line for a file of these that cannot be read, where a collector is named. */
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
