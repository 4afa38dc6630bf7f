import { DatabaseSync } from 'node:sqlite';
import { MAIN, startStandalone } from '#bench/processes/service';

/** Starts the standalone service on a SQLite file; creates the file if missing. */
export function startOnFile(file: string, nodeArgs: readonly string[] = []) {
  return startStandalone(nodeArgs, MAIN, fileVariables(file));
}

/** Environment variables for a process on this SQLite file. */
export function fileVariables(file: string): Readonly<Record<string, string>> {
  return { SERVICE_STORAGE: 'sqlite', SERVICE_SQLITE_FILE: file };
}

/** Name under which `fileBytes` returns the bytes of unused pages. */
const FREE = 'free pages';

/** Bytes of each table, including indexes, and of unused pages. The file must be idle. */
export function fileBytes(file: string): Map<string, number> {
  using database = new DatabaseSync(file, { readOnly: true });
  const tables = database.prepare(`
    SELECT coalesce(tbl_name, dbstat.name) AS name, sum(pgsize) AS bytes
    FROM dbstat LEFT JOIN sqlite_schema ON sqlite_schema.name = dbstat.name
    WHERE aggregate = true GROUP BY 1`);
  const bytes = new Map(tables.all().map(({ name, bytes }) => [String(name), Number(bytes)]));
  const free = database.prepare(
    'SELECT freelist_count * page_size AS bytes FROM pragma_freelist_count, pragma_page_size',
  );
  return bytes.set(FREE, Number(free.get()?.['bytes']));
}
