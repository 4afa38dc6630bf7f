import { setTimeout as sleep } from 'node:timers/promises';
import { metricValues } from '#test/support/metric-values';
import type { Service } from '#test/support/service';

/** How long a process may take to forget what is not used, in milliseconds: idle actors above all. */
const FORGET_MS = 40_000;

/** Heap that may come on top: bounded tables of callers and answers that fill up, in bytes. */
const GROWTH_BYTES_MAX = 48 * 1_024 * 1_024;

const COLLECT = `
import v8 from 'node:v8';
import vm from 'node:vm';
v8.setFlagsFromString('--expose-gc');
const collect = vm.runInNewContext('gc');
process.on('SIGUSR2', () => collect());
`;

/** Variables with which a process collects its garbage whenever it gets a SIGUSR2, and forgets soon. */
export const MEASURABLE = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(COLLECT)}`,
  SERVICE_ACTOR_IDLE_S: '30',
  SERVICE_ACTOR_MEMORY_MIB: '16',
} as const;

/** A service of several processes, each of which can be measured by itself. */
export type MeasuredProcesses = Pick<Service, 'processes'> & {
  /** Where each process shows its metrics, by its name. */
  readonly metricsUrls: ReadonlyMap<string, string>;
};

/** Bytes of each process's heap and buffers that are in use once idle actors have left, by its name. */
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

/** Processes that hold much more than before, each with what `again` says. */
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
