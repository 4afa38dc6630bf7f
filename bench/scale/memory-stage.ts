import { readFile } from 'node:fs/promises';
import type { Inspector, MemoryUse } from '#bench/measures/inspector';
import { mebibytes } from '#bench/measures/statistics';

/** Memory of a process at one stage, before and after garbage collection. */
export type MemoryStage = { readonly residentBytes: number; readonly collected: MemoryUse };

/** Returns a function that measures and prints a memory stage of a process. */
export function memoryStages(
  inspector: Inspector,
  print: (line: string) => void,
): (title: string) => Promise<MemoryStage> {
  return async (title) => {
    const { residentBytes } = await inspector.memory();
    const collected = await inspector.memoryAfterCollection();
    const left = mebibytes(collected.residentBytes);
    print(`${title}: ${mebibytes(residentBytes)} resident, ${left} collected`);
    return { residentBytes, collected };
  };
}

/** Bytes per item for `count` items added between two stages. */
export function bytesEach(
  before: MemoryStage,
  after: MemoryStage,
  count: number,
): { readonly live: number; readonly resident: number } {
  const grown = (what: keyof MemoryUse) => after.collected[what] - before.collected[what];
  return { live: grown('liveBytes') / count, resident: grown('residentBytes') / count };
}

/** Peak resident size of a process. Source: VmHWM in proc(5). */
export async function highestBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return 1_024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]);
}
