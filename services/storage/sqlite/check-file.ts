import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as yieldToEvents } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { CorruptState } from '#storage/byte-reader';
import type { FileContents, WatchWork } from '#storage/data-file';
import { CheckedTable } from '#storage/sqlite/checked-table';
import type { Row } from '#storage/sqlite/database';
import { assertKnown, assertOwnSchema, versionOf } from '#storage/sqlite/file-schema';
import { SUM_MODULUS } from '#storage/sqlite/row-checksum';
import { bytesOf } from '#storage/sqlite/thread-messages';
import { UnusableFile, unusable } from '#storage/sqlite/unusable-file';
import { assertWhole } from '#storage/sqlite/whole-file';

/** Bytes of rows between two looks at whether the work is to go on. */
const PORTION_BYTES = 8 * 1_024 * 1_024;

/**
 * Reads a file that nothing writes, and that has no WAL: each page, and each row against its checksum.
 * Rejects with `UnusableFile` for the first that is not as written, and for a file that this program
 * could not serve.
 */
export async function checkFile(file: string, watch: WatchWork): Promise<FileContents> {
  try {
    assertWhole(file);
    // Immutable: SQLite leaves no files beside it.
    const url = pathToFileURL(file);
    url.search = 'immutable=1';
    const database = new DatabaseSync(url, { readOnly: true });
    try {
      return await checked(database, file, watch);
    } finally {
      database.close();
    }
  } catch (error) {
    if (error instanceof CorruptState) throw damaged(file, error.message);
    throw unusable(file, error);
  }
}

async function checked(
  database: DatabaseSync,
  file: string,
  watch: WatchWork,
): Promise<FileContents> {
  const { size } = statSync(file);
  const version = versionOf(database, file);
  if (version === 0) throw new UnusableFile(`${file} has no tables`);
  assertKnown(version, file);
  assertOwnSchema(database, version, file);
  watch('checked', 0, size);
  const [found] = database.prepare('PRAGMA quick_check(1)').all();
  if (found?.['quick_check'] !== 'ok') throw damaged(file, String(found?.['quick_check']));
  await checkRows(database, file, watch, size);
  const count = (what: string) =>
    Number(database.prepare(`SELECT count(*) AS n FROM ${what}`).get()?.['n']);
  return {
    accounts: count('accounts WHERE state IS NOT NULL'),
    instances: count('heads WHERE expires_at_ms IS NULL'),
    journalGroups: count('journal'),
    bytes: size,
  };
}

/** Reads every row, and compares how many there are, and the sum of their checksums, with what is kept of it. */
async function checkRows(
  database: DatabaseSync,
  file: string,
  watch: WatchWork,
  size: number,
): Promise<void> {
  let bytes = 0;
  let seenBytes = 0;
  for (const { name, table } of tablesIn(database)) {
    const select = database.prepare(table.select(''));
    select.setReturnArrays(true);
    let rows = 0;
    let total = 0;
    for (const row of select.iterate() as Iterable<unknown> as Iterable<Row>) {
      table.rowsOf([row]);
      rows += 1;
      total = (total + Number(row.at(-1))) % SUM_MODULUS;
      bytes += bytesOf(row);
      if (bytes - seenBytes < PORTION_BYTES) continue;
      seenBytes = bytes;
      watch('checked', Math.min(bytes, size), size);
      await yieldToEvents();
    }
    const kept = database.prepare(KEPT).get(name);
    if (kept?.['parts'] === 0 || (kept?.['n'] === rows && kept['total'] === total)) continue;
    throw damaged(file, `rows of ${name} are missing`);
  }
}

/** What is kept of a table's rows; of some tables nothing is. */
const KEPT = `SELECT count(*) AS parts, coalesce(sum(rows), 0) AS n,
  coalesce(sum(total), 0) % ${SUM_MODULUS} AS total FROM sums WHERE name = ?`;

/** Every table whose rows have a checksum: its key is first and the checksum last. */
function tablesIn(database: DatabaseSync) {
  const names = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  return names.flatMap(({ name }) => {
    const columns = database
      .prepare('SELECT name, pk FROM pragma_table_info(?) ORDER BY cid')
      .all(String(name))
      .map((column) => ({ name: String(column['name']), isKey: Number(column['pk']) > 0 }));
    if (columns.at(-1)?.name !== 'checksum') return [];
    const named = (isKey: boolean) =>
      columns.filter((column) => column.isKey === isKey).map((column) => column.name);
    const shape = { keys: named(true), others: named(false).slice(0, -1) };
    return { name: String(name), table: new CheckedTable({ name: String(name), ...shape }) };
  });
}

function damaged(file: string, text: string): UnusableFile {
  return new UnusableFile(`${file} is damaged: ${text.replaceAll('\n', ' ')}`);
}
