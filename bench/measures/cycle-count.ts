/** Cycle counters of the service. */
export type CycleCount = { readonly advanced: number; readonly throttled: number };

/** Reads the cycle counters of the processes that advance instances (docs/metrics.md). */
export async function readCycleCount(metricsUrls: readonly string[]): Promise<CycleCount> {
  const text = await metricsOf(metricsUrls);
  return {
    advanced: sumOf(text, 'identity_cycles_total'),
    throttled: sumOf(text, 'identity_throttled_total'),
  };
}

/** Concatenates the metrics of several processes. */
export async function metricsOf(metricsUrls: readonly string[]): Promise<string> {
  const texts = metricsUrls.map(async (url) => (await fetch(`${url}/metrics`)).text());
  return (await Promise.all(texts)).join('\n');
}

/**
 * Sum of a metric's samples in a Prometheus text. `label` restricts the sum to matching samples.
 */
export function sumOf(text: string, metric: string, label = ''): number {
  const lines = text
    .split('\n')
    .filter((line) => /^\w+/.exec(line)?.[0] === metric && line.includes(label));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}
