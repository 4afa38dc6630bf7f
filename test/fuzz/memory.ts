import { setTimeout as sleep } from 'node:timers/promises';
import { metricValues } from '#test/support/metric-values';
import type { Service } from '#test/support/servers/service';

/** Time until a process has evicted idle actors and freed their memory, in milliseconds. */
const FORGET_MS = 40_000;

/** Tolerated heap growth in bytes. The heap grows while bounded tables fill up. */
const GROWTH_BYTES_MAX = 48 * 1_024 * 1_024;

const COLLECT = `
import v8 from 'node:v8';
import vm from 'node:vm';
v8.setFlagsFromString('--expose-gc');
const collect = vm.runInNewContext('gc');
process.on('SIGUSR2', () => collect());
`;

/** Variables that make a process collect garbage on SIGUSR2 and evict early. */
export const MEASURABLE = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(COLLECT)}`,
  SERVICE_ACTOR_IDLE_S: '30',
  SERVICE_ACTOR_MEMORY_MIB: '16',
} as const;

/** A service whose processes are measured separately. */
export type MeasuredProcesses = Pick<Service, 'processes'> & {
  /** Metrics URLs by process name. */
  readonly metricsUrls: ReadonlyMap<string, string>;
};

/** Heap and buffer bytes per process after idle actors have been evicted. */
export async function settledBytes({
  processes,
  metricsUrls,
}: MeasuredProcesses): Promise<ReadonlyMap<string, number>> {
  await sleep(FORGET_MS);
  for (const [, child] of processes) child.kill('SIGUSR2');
  await sleep(1_000);
  const bytes = new Map<string, number>();
  for (const [name, metricsUrl] of metricsUrls) {
    const values = await metricValues({ metricsUrl });
    const named = (metric: string) => values.get(metric) ?? 0;
    const heap = named('nodejs_heap_size_used_bytes') + named('nodejs_external_memory_bytes');
    bytes.set(name, heap);
  }
  return bytes;
}

/** Findings for processes whose memory grew too much. Each finding ends with `again`. */
export function growthFlaws(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  again: string,
): string[] {
  return [...after].flatMap(([name, afterBytes]) => {
    const beforeBytes = before.get(name) ?? 0;
    const grown = afterBytes - beforeBytes;
    if (grown <= GROWTH_BYTES_MAX) return [];
    const mebibytes = Math.round(grown / 1_048_576);
    const from = `from ${beforeBytes} to ${afterBytes} bytes`;
    return [`the memory of ${name} grew by ${mebibytes} MiB, ${from}\n${again}`];
  });
}
