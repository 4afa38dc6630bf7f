import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { flushTables } from '#bench/durable/flushed-tables';
import { sessionIn } from '#test/storage/cassandra/migrated-keyspace';

/**
 * Size-tiered compaction in which any two files form a bucket: each table becomes one file, as
 * after a major compaction.
 */
const INTO_ONE_FILE = ` AND compaction = {'class': 'SizeTieredCompactionStrategy',
  'min_threshold': 2, 'max_threshold': 64, 'min_sstable_size': 1099511627776}`;

/** Maximum wait for compaction, in ms. Cassandra schedules compactions once a minute. */
const COMPACTED_MS_MAX = 180_000;

/** Interval between two checks of the file sizes, in ms. */
const CHECK_INTERVAL_MS = 2_000;

/** Number of consecutive checks without a change after which the files are idle. */
const UNCHANGED_CHECKS = 3;

/** A keyspace and the data folder of its Cassandra server. */
export type KeyspaceFiles = {
  readonly address: string;
  readonly dataFolder: string;
  readonly keyspace: string;
};

type TableFiles = { readonly bytes: number; readonly dataFiles: number };

/**
 * Size in bytes of each table of an idle keyspace, after a flush and a compaction into one file.
 * The compaction setting is not restored.
 */
export async function diskBytes(where: KeyspaceFiles): Promise<Map<string, number>> {
  await using session = await sessionIn(where.address, where.keyspace);
  const folder = join(where.dataFolder, where.keyspace);
  const names = [...(await filesIn(folder)).keys()];
  await flushTables(session, names, INTO_ONE_FILE);
  const deadlineMs = performance.now() + COMPACTED_MS_MAX;
  let files = await filesIn(folder);
  for (let unchanged = 0; unchanged < UNCHANGED_CHECKS; ) {
    if (performance.now() > deadlineMs) break;
    await sleep(CHECK_INTERVAL_MS);
    const later = await filesIn(folder);
    unchanged = isAtRest(files, later) ? unchanged + 1 : 0;
    files = later;
  }
  return new Map([...files].map(([table, { bytes }]) => [table, bytes]));
}

/** Whether the files are unchanged and fully compacted. */
function isAtRest(
  earlier: ReadonlyMap<string, TableFiles>,
  later: ReadonlyMap<string, TableFiles>,
): boolean {
  return [...later].every(
    ([table, { bytes, dataFiles }]) => dataFiles <= 1 && earlier.get(table)?.bytes === bytes,
  );
}

/** Reads the files of each table. Cassandra names the folder of a table `<table>-<id>`. */
async function filesIn(folder: string): Promise<Map<string, TableFiles>> {
  const found = new Map<string, TableFiles>();
  for (const name of await readdir(folder)) {
    const table = name.slice(0, name.lastIndexOf('-'));
    const entries = await readdir(join(folder, name), { withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    const sizes = await Promise.all(files.map((file) => sizeOf(join(folder, name, file.name))));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    const dataFiles = files.filter((file) => file.name.endsWith('-Data.db')).length;
    found.set(table, { bytes, dataFiles });
  }
  return found;
}

/** Size of a file in bytes; 0 if compaction has removed the file. */
async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}
