import { setTimeout as sleep } from 'node:timers/promises';
import { metricValues } from '#test/support/metric-values';
import type { Service } from '#test/support/service';

/** How long a process may take to forget what nobody uses, in milliseconds: idle actors above all. */
const SETTLE_MS = 40_000;

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

/** Bytes of a process's heap and buffers that are in use once it has settled. */
export async function settledBytes(service: Service): Promise<number> {
  await sleep(SETTLE_MS);
  for (const [, child] of service.processes) child.kill('SIGUSR2');
  await sleep(1_000);
  const values = await metricValues(service);
  const named = (name: string) => values.get(name) ?? 0;
  return named('nodejs_heap_size_used_bytes') + named('nodejs_external_memory_bytes');
}

/** What is wrong with this growth; undefined for nothing. */
export function growthFlaw(beforeBytes: number, afterBytes: number): string | undefined {
  const grown = afterBytes - beforeBytes;
  if (grown <= GROWTH_BYTES_MAX) return undefined;
  return `memory grew by ${Math.round(grown / 1_048_576)} MiB, from ${beforeBytes} to ${afterBytes}`;
}
