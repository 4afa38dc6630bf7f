import { type Dirent, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type ClusterPlan, processFolder } from '#deploy/local/cluster-plan';
import { usageOf } from '#loadtest/processes/process-usage';
import type { Reading } from '#loadtest/processes/slopes';
import { v8HeapOf } from '#loadtest/processes/v8-heap';

/** Interval between readings in ms. 360 readings per hour cost little. */
const READ_EVERY_MS = 10_000;

/**
 * Folder prefix of the journal tables in Cassandra. Their size must not grow, because slots are
 * truncated.
 */
const JOURNAL_TABLE = /^(journal|journals|seals)-/;

const BYTES_PER_MIB = 1_024 * 1_024;

/** Readings of resource usage, taken periodically until disposed. */
export type Readings = Disposable & { readonly all: readonly Reading[] };

/**
 * Reads the resource usage of a local cluster periodically. Continuous values: live heap of the
 * service's processes, their open files, disk space of the journal. Stepped values: memory without
 * V8's young generation, Cassandra's open files.
 */
export function readRepeatedly(cluster: ClusterPlan): Readings {
  const startedMs = performance.now();
  const all: Reading[] = [];
  const read = async (): Promise<void> => {
    const second = (performance.now() - startedMs) / 1_000;
    all.push({ second, ...(await valuesOf(cluster)) });
  };
  void read();
  const timer = setInterval(() => void read(), READ_EVERY_MS);
  return { all, [Symbol.dispose]: () => clearInterval(timer) };
}

async function valuesOf(cluster: ClusterPlan): Promise<Omit<Reading, 'second'>> {
  const usages = usageOf(cluster);
  const values = new Map<string, number>();
  const stepped = new Map<string, number>();
  const read = cluster.processes.map(async ({ name, kind, operatorsPort }): Promise<void> => {
    const usage = usages.get(name);
    if (usage === undefined) return;
    // Stepped: one compaction of Cassandra merges several table files of similar size.
    const files = kind === 'cassandra' ? stepped : values;
    files.set(`open files of ${name}`, usage.openFiles);
    if (operatorsPort === undefined) {
      stepped.set(`memory of ${name}, MiB`, usage.memoryMib);
      return;
    }
    const heap = await v8HeapOf(operatorsPort);
    if (heap === undefined) return;
    values.set(`live heap of ${name}, MiB`, heap.live / BYTES_PER_MIB);
    stepped.set(`memory of ${name}, MiB`, usage.memoryMib - heap.young / BYTES_PER_MIB);
  });
  await Promise.all(read);
  values.set('journal on disk, MiB', journalBytes(cluster) / BYTES_PER_MIB);
  return { values, stepped };
}

function journalBytes({ folder, processes }: ClusterPlan): number {
  const nodes = processes.filter(({ kind }) => kind === 'cassandra');
  const roots = nodes.map(({ name }) => join(processFolder(folder, name), 'state', 'data'));
  const keyspaces = roots.flatMap((root) => foldersIn(root).map(({ name }) => join(root, name)));
  const tables = keyspaces.flatMap((keyspace) =>
    foldersIn(keyspace)
      .filter(({ name }) => JOURNAL_TABLE.test(name))
      .map(({ name }) => join(keyspace, name)),
  );
  return tables.reduce((sum, table) => sum + bytesIn(table), 0);
}

function foldersIn(folder: string): Dirent[] {
  return entriesIn(folder).filter((entry) => entry.isDirectory());
}

/** Entries of a folder; empty if the folder has been removed meanwhile. */
function entriesIn(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function bytesIn(folder: string): number {
  const sizes = entriesIn(folder)
    .filter((entry) => entry.isFile())
    .map(({ name }) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((sum, size) => sum + size, 0);
}
