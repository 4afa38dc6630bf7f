import { readdirSync, readFileSync } from 'node:fs';
import { type ClusterPlan, processFolder } from '#deploy/local/cluster-plan';
import { runningServer } from '#deploy/local/servers/server-record';
import type { ProcessUsage } from '#loadtest/k6/text-summary';

/** Resource usage of a process. */
export type Usage = {
  readonly pid: number;
  readonly memoryMib: number;
  readonly openFiles: number;
};

/** Resource usage of a local cluster's processes, by name; empty except on Linux. */
export function usageOf(cluster: ClusterPlan): Map<string, Usage> {
  const found = new Map<string, Usage>();
  for (const [name, pid] of pidsOf(cluster)) {
    const usage = usageOfProcess(pid);
    if (usage !== undefined) found.set(name, usage);
  }
  return found;
}

/** Process ids of a running local cluster, by name. */
export function pidsOf({ folder, processes }: ClusterPlan): Map<string, number> {
  const found = new Map<string, number>();
  for (const { name } of processes) {
    const pid = runningServer(processFolder(folder, name))?.pid;
    if (pid !== undefined) found.set(name, pid);
  }
  return found;
}

function usageOfProcess(pid: number): Usage | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const memoryKib = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
    const openFiles = readdirSync(`/proc/${pid}/fd`).length;
    return { pid, memoryMib: Math.round(memoryKib / 1_024), openFiles };
  } catch {
    return undefined; // The process has ended, or this is not Linux.
  }
}

/** Usage before and after a load, for processes that ran all the time. */
export function usageBetween(
  before: ReadonlyMap<string, Usage>,
  after: ReadonlyMap<string, Usage>,
): ProcessUsage[] {
  return [...before].flatMap(([name, first]) => {
    const last = after.get(name);
    if (last?.pid !== first.pid) return [];
    const memoryMib = [first.memoryMib, last.memoryMib] as const;
    return [{ name, memoryMib, openFiles: [first.openFiles, last.openFiles] as const }];
  });
}
