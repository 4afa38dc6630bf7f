/** What the service itself counted so far. */
export type CycleCount = { readonly advanced: number; readonly throttled: number };

/** Reads the counters of the processes that advance instances (docs/metrics.md). */
export async function readCycleCount(metricsUrls: readonly string[]): Promise<CycleCount> {
  const text = await metricsOf(metricsUrls);
  return {
    advanced: sumOf(text, 'identity_cycles_total'),
    throttled: sumOf(text, 'identity_throttled_total'),
  };
}

/** The metrics of several processes, one text after the other. */
export async function metricsOf(metricsUrls: readonly string[]): Promise<string> {
  const texts = metricsUrls.map(async (url) => (await fetch(`${url}/metrics`)).text());
  return (await Promise.all(texts)).join('\n');
}

/** The sum of a metric's lines in a Prometheus text, only those with `label` where one is given. */
export function sumOf(text: string, metric: string, label = ''): number {
  const lines = text
    .split('\n')
    .filter((line) => /^\w+/.exec(line)?.[0] === metric && line.includes(label));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}
