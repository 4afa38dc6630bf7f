import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { flushTables } from '#bench/flushed-tables';
import { sessionIn } from '#test/storage/migrated-keyspace';

/**
 * All files of a table are of one size to this strategy, so that it makes one of any two: what the
 * server's own tool calls a major compaction.
 */
const INTO_ONE_FILE = ` AND compaction = {'class': 'SizeTieredCompactionStrategy',
  'min_threshold': 2, 'max_threshold': 64, 'min_sstable_size': 1099511627776}`;

/** How long compaction may take, in ms: Cassandra looks for work once a minute if not asked. */
const COMPACTED_MS_MAX = 180_000;

/** How often the files are looked at, in ms, and how often they must be the same. */
const LOOK_EVERY_MS = 2_000;
const LOOKS_ALIKE = 3;

/** A keyspace, and the folder in which its server has the data of all. */
export type KeyspaceFiles = {
  readonly address: string;
  readonly dataFolder: string;
  readonly keyspace: string;
};

type TableFiles = { readonly bytes: number; readonly dataFiles: number };

/**
 * Bytes of all files of each table of a keyspace that nothing writes to any more, once everything
 * is flushed and each table compacted into one file. The tables stay that way.
 */
export async function diskBytes(where: KeyspaceFiles): Promise<Map<string, number>> {
  await using session = await sessionIn(where.address, where.keyspace);
  const folder = join(where.dataFolder, where.keyspace);
  const names = [...(await filesIn(folder)).keys()];
  await flushTables(session, names, INTO_ONE_FILE);
  const deadlineMs = performance.now() + COMPACTED_MS_MAX;
  let files = await filesIn(folder);
  for (let alike = 0; alike < LOOKS_ALIKE; ) {
    if (performance.now() > deadlineMs) break;
    await sleep(LOOK_EVERY_MS);
    const later = await filesIn(folder);
    alike = isAtRest(files, later) ? alike + 1 : 0;
    files = later;
  }
  return new Map([...files].map(([table, { bytes }]) => [table, bytes]));
}

/** Whether nothing has changed, and nothing is left to be compacted. */
function isAtRest(
  earlier: ReadonlyMap<string, TableFiles>,
  later: ReadonlyMap<string, TableFiles>,
): boolean {
  return [...later].every(
    ([table, { bytes, dataFiles }]) => dataFiles <= 1 && earlier.get(table)?.bytes === bytes,
  );
}

/** The files of each table, whose folder is its name and an id. */
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

/** Compaction removes files while they are looked at. */
async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}
