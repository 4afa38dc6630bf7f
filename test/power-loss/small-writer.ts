import { DatabaseSync } from 'node:sqlite';
import { changesOf, keptValue } from '#test/power-loss/small-database';

/*
 * Commits numbered transactions to a SQLite file in WAL mode. Prints each number with the monotonic
 * time of the commit in nanoseconds. Then kills itself without closing the file.
 * Usage: node small-writer.ts <file> <first> <count> <synchronous>
 */

const [file = '', first = '1', count = '0', synchronous = 'FULL'] = process.argv.slice(2);

/** WAL pages per checkpoint, few enough that both files are written all the time. */
const CHECKPOINT_PAGES = 40;

/** Transactions between two WAL truncations. */
const EMPTIED_EVERY = 90;

const database = new DatabaseSync(file);
database.exec(
  `PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};` +
    `PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};` +
    'CREATE TABLE IF NOT EXISTS done (number INTEGER PRIMARY KEY);' +
    'CREATE TABLE IF NOT EXISTS kept (key INTEGER PRIMARY KEY, value TEXT)',
);
const done = database.prepare('INSERT INTO done VALUES (?)');
const keep = database.prepare('INSERT OR REPLACE INTO kept VALUES (?, ?)');
const remove = database.prepare('DELETE FROM kept WHERE key = ?');
const last = Number(first) + Number(count) - 1;
for (let number = Number(first); number <= last; number += 1) {
  database.exec('BEGIN IMMEDIATE');
  done.run(number);
  for (const { key, isKept } of changesOf(number)) {
    if (isKept) keep.run(key, keptValue(key, number));
    else remove.run(key);
  }
  database.exec('COMMIT');
  process.stdout.write(`${number} ${process.hrtime.bigint()}\n`);
  if (number % EMPTIED_EVERY === 0) database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}
process.kill(process.pid, 'SIGKILL');
