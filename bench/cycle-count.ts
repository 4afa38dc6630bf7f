/** What the service itself counted so far. */
export type CycleCount = { readonly advanced: number; readonly throttled: number };

/** Reads the counters of the process that advances instances (operations, "Metrics"). */
export async function readCycleCount(metricsUrl: string): Promise<CycleCount> {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text();
  return {
    advanced: sumOf(text, 'identity_cycles_total'),
    throttled: sumOf(text, 'identity_throttled_total'),
  };
}

/** The sum of a metric's lines in a Prometheus text, only those with `label` where one is given. */
export function sumOf(text: string, metric: string, label = ''): number {
  const lines = text
    .split('\n')
    .filter((line) => /^\w+/.exec(line)?.[0] === metric && line.includes(label));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}
