import type { Exemplar } from '#platform/histogram';

/** The content type of the text below. Source: OpenMetrics 1.0. */
export const OPEN_METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** One line of a scrape, as a registry gives it. */
type Sample = {
  readonly metricName?: string;
  readonly labels: Partial<Record<string, string | number>>;
  readonly value: number;
  readonly exemplar?: Exemplar | null;
};

/** One metric of a registry, with its lines. */
export type MetricFamily = {
  readonly name: string;
  readonly help: string;
  readonly type: unknown;
  readonly values: readonly Sample[];
};

/**
 * Metrics as OpenMetrics, which unlike Prometheus' own text has a place for exemplars. Not by the
 * library: its registry renames every counter for good when it writes this form, and the other form
 * then has the wrong names.
 */
export function openMetricsText(families: readonly MetricFamily[]): string {
  return `${families.map(familyText).join('')}# EOF\n`;
}

/** Whether a scraper's `Accept` names OpenMetrics, and does not like Prometheus' own text better. */
export function acceptsOpenMetrics(accept: string | undefined): boolean {
  const open = weightOf('application/openmetrics-text', accept);
  return open > 0 && open >= weightOf('text/plain', accept);
}

/** How much an `Accept` likes a type that it names, 0 to 1. Source: RFC 9110, 12.4.2. */
function weightOf(type: string, accept = ''): number {
  const weights = accept.split(',').flatMap((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (name !== type) return [];
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    return [weight === undefined ? 1 : Number(weight.slice(2)) || 0];
  });
  return Math.max(0, ...weights);
}

function familyText({ name, help, type, values }: MetricFamily): string {
  // A counter's family has no suffix, its samples do.
  const family = type === 'counter' ? name.replace(/_total$/, '') : name;
  const head = `# TYPE ${family} ${String(type)}\n# HELP ${family} ${escaped(help)}\n`;
  return head + values.map((sample) => sampleText(name, sample)).join('');
}

function sampleText(name: string, { metricName = name, labels, value, exemplar }: Sample): string {
  const line = `${metricName}${labelsText(labels)} ${numberText(value)}`;
  if (!exemplar) return `${line}\n`;
  const { labelSet, value: shown, timestamp } = exemplar;
  return `${line} # ${labelsText(labelSet)} ${numberText(shown)} ${timestamp.toFixed(3)}\n`;
}

function labelsText(labels: Partial<Record<string, string | number>>): string {
  const pairs = Object.entries(labels).map(
    ([label, value]) => `${label}="${escaped(String(value))}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}
