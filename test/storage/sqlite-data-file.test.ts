import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '#platform/clock';
import type { DataFile } from '#storage/data-file';
import { CheckedTable } from '#storage/sqlite/checked-table';
import { openConnection } from '#storage/sqlite/connection';
import { knownFileVersions } from '#storage/sqlite/file-schema';
import { openServedFile } from '#storage/sqlite/open-file';
import { sqliteDataFile } from '#storage/sqlite/sqlite-data-file';
import type { SqliteFile } from '#storage/sqlite/sqlite-file';
import { UnusableFile } from '#storage/sqlite/unusable-file';
import { scratchFiles } from '#test/storage/scratch-file';

const files = scratchFiles();
const FACTS = new CheckedTable({ name: 'cluster_facts', keys: ['fact'], others: ['value'] });
const silent = () => undefined;

/** Longer than a page, so that a file has many. */
const LONG = 'long text '.repeat(300);

const dataFile = (path: string): DataFile => sqliteDataFile(path, systemClock);

/** A file that is closed in good order and has that many rows, with this in each. */
async function closedFile(rows: number, text = LONG): Promise<string> {
  const path = files.path();
  await using file = openServedFile({ file: path, clock: systemClock });
  await putFacts(file, rows, text);
  return path;
}

async function putFacts(file: SqliteFile, rows: number, text: string): Promise<void> {
  const statements = Array.from({ length: rows }, (_, row) => FACTS.put([`fact ${row}`, text]));
  assert.ok(await file.write({ operation: 'put', statements }));
}

/** The different texts in a file that nothing serves. */
function textsIn(path: string): string[] {
  const database = new DatabaseSync(path);
  const rows = database.prepare(
    "SELECT DISTINCT value FROM cluster_facts WHERE fact LIKE 'fact %'",
  );
  const texts = rows.all().map(({ value }) => String(value));
  database.close();
  return texts;
}

/** An empty file for a backup. */
function emptyFile(): string {
  const path = files.path();
  writeFileSync(path, '', { mode: 0o600 });
  return path;
}

/** What the work rejects with. */
async function rejection(work: () => Promise<unknown>): Promise<unknown> {
  return await work().then(
    () => assert.unreachable('it should reject'),
    (error: unknown) => error,
  );
}

/** The one line with which work on a file is refused. */
async function refusal(work: () => Promise<unknown>): Promise<string> {
  const error = await rejection(work);
  assert.instance(error, UnusableFile, String(error));
  assert.not.match((error as Error).message, /\n/);
  return (error as Error).message;
}

/** Changes a byte where a text stands for the first time. */
function damage(path: string, text: string): void {
  const bytes = readFileSync(path);
  const at = bytes.indexOf(text);
  assert.ok(at > 0);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

const copied = suite('a backup of a file that is written to all the time');

copied('ends, and holds what was there at one moment', async () => {
  const path = files.path();
  await using file = openServedFile({ file: path, clock: systemClock });
  await putFacts(file, 10_000, LONG);
  await putFacts(file, 20, 'before');
  let isOver = false;
  let writes = 0;
  const writing = (async () => {
    for (; !isOver; writes += 1) await putFacts(file, 20, `${writes}`);
  })();
  const target = emptyFile();
  const copiedBytes: number[] = [];
  const contents = await dataFile(path).backup(target, (work, doneBytes) => {
    if (work === 'copied') copiedBytes.push(doneBytes);
  });
  isOver = true;
  await writing;
  assert.ok(copiedBytes.length > 5, `${copiedBytes.length} portions`);
  assert.equal(
    copiedBytes,
    copiedBytes.toSorted((a, b) => a - b),
    'it never begins again',
  );
  assert.ok(writes > 5, `${writes} writes`);
  assert.is(textsIn(target).length, 2, 'a write changes twenty rows at once');
  assert.is(contents.bytes, statSync(target).size);
  assert.is(statSync(target).mode & 0o777, 0o600);
});

copied('ends where its user ends it, between two portions', async () => {
  const path = await closedFile(2_000);
  const stop = new Error('stop');
  const error = await rejection(() =>
    dataFile(path).backup(emptyFile(), () => {
      throw stop;
    }),
  );
  assert.is(error, stop);
});

copied('is refused for a row that the disk has changed', async () => {
  const path = await closedFile(3, 'a value like no other');
  damage(path, 'a value like no other');
  const line = await refusal(() => dataFile(path).backup(emptyFile(), silent));
  assert.match(line, /is damaged: the row fact \d of cluster_facts does not match its checksum/);
});

copied('is refused for a row that is missing', async () => {
  const path = await closedFile(3);
  const database = openConnection(path);
  const sql = "SELECT sql FROM sqlite_schema WHERE name = 'cluster_facts_deleted'";
  const trigger = String(database.prepare(sql).get()?.['sql']);
  // As if it had never been there: what is kept of the rows does not hear of it.
  database.exec('DROP TRIGGER cluster_facts_deleted');
  database.exec("DELETE FROM cluster_facts WHERE fact = 'fact 1'");
  database.exec(trigger);
  database.close();
  const line = await refusal(() => dataFile(path).backup(emptyFile(), silent));
  assert.match(line, /is damaged: rows of cluster_facts are missing/);
});

copied('is refused for a page that the disk has changed', async () => {
  const path = await closedFile(500);
  const bytes = readFileSync(path);
  // The kind of each page but the first: nothing is a page any more.
  for (let at = 4_096; at < bytes.length; at += 4_096) bytes[at] = 0xff;
  writeFileSync(path, bytes);
  assert.match(
    await refusal(() => dataFile(path).backup(emptyFile(), silent)),
    /damaged|malformed/,
  );
});

const restored = suite('a restore');

restored('puts the backup in the place of the file, which it keeps', async () => {
  const [path, backup] = [await closedFile(3, 'newer'), await closedFile(3, 'older')];
  await using opened = await dataFile(path).openBackup(backup, silent);
  assert.ok(opened.replaces);
  assert.equal(textsIn(path), ['newer'], 'nothing has changed before it is placed');
  const kept = await opened.place();
  assert.equal(textsIn(path), ['older']);
  assert.equal(textsIn(kept ?? ''), ['newer']);
  assert.is(statSync(path).mode & 0o777, 0o600);
  assert.equal(textsIn(backup), ['older'], 'the backup stays');
});

restored('needs no file before it, and leaves nothing else behind', async () => {
  const backup = await closedFile(3, 'older');
  const path = join(files.folder, 'new', 'identity-engine.db');
  {
    await using opened = await dataFile(path).openBackup(backup, silent);
    assert.not.ok(opened.replaces);
    assert.is(await opened.place(), undefined);
  }
  assert.equal(textsIn(path), ['older']);
  const owner = 'identity-engine.db-owner';
  assert.equal(readdirSync(join(files.folder, 'new')).toSorted(), ['identity-engine.db', owner]);
  assert.is(statSync(join(files.folder, 'new')).mode & 0o777, 0o700);
});

restored('takes a file that a crash has left, with its WAL', async () => {
  const served = files.path();
  const backup = files.path();
  await using file = openServedFile({ file: served, clock: systemClock });
  await putFacts(file, 3, 'in the WAL');
  for (const end of ['', '-wal']) copyFileSync(`${served}${end}`, `${backup}${end}`);
  const path = await closedFile(3, 'newer');
  await using opened = await dataFile(path).openBackup(backup, silent);
  await opened.place();
  assert.equal(textsIn(path), ['in the WAL']);
});

restored('keeps what a crash has left of the file', async () => {
  const served = files.path();
  const path = files.path();
  await using file = openServedFile({ file: served, clock: systemClock });
  await putFacts(file, 3, 'in the WAL');
  for (const end of ['', '-wal']) copyFileSync(`${served}${end}`, `${path}${end}`);
  await using opened = await dataFile(path).openBackup(await closedFile(3, 'older'), silent);
  const kept = await opened.place();
  assert.equal(textsIn(path), ['older']);
  assert.equal(textsIn(kept ?? ''), ['in the WAL']);
});

restored('keeps what SQLite cannot open', async () => {
  const path = files.path();
  writeFileSync(path, 'no file of SQLite');
  writeFileSync(`${path}-wal`, 'what was beside it');
  await using opened = await dataFile(path).openBackup(await closedFile(3, 'older'), silent);
  const kept = (await opened.place()) ?? '';
  assert.equal(textsIn(path), ['older']);
  assert.is(readFileSync(kept, 'utf8'), 'no file of SQLite');
  assert.is(readFileSync(`${kept}-wal`, 'utf8'), 'what was beside it');
});

restored('is refused while the file is served', async () => {
  const path = files.path();
  await using _file = openServedFile({ file: path, clock: systemClock });
  const backup = await closedFile(1);
  const line = await refusal(() => dataFile(path).openBackup(backup, silent));
  assert.match(
    line,
    new RegExp(`served by process ${process.pid}, since .*; stop that one first$`),
  );
});

const UNSOUND: [string, (path: string) => void, RegExp][] = [
  ['of another program', ofAnotherProgram, /is a SQLite file of another program/],
  [
    'of a newer version',
    (path) => change(path, 'PRAGMA user_version = 99'),
    /version 99; .* newer/,
  ],
  ['of no tables', (path) => writeFileSync(path, ''), /has no tables/],
  ['that is none of SQLite', (path) => writeFileSync(path, LONG), /is no file of SQLite/],
  ['that is cut off', (path) => truncateSync(path, statSync(path).size - 4_096), /is cut off/],
  ['with a damaged row', (path) => damage(path, 'a value like no other'), /is damaged: the row/],
];

for (const [what, spoil, expected] of UNSOUND) {
  restored(`is refused for a backup ${what}, and changes nothing`, async () => {
    const path = await closedFile(3, 'newer');
    const backup = await closedFile(3, 'a value like no other');
    spoil(backup);
    const line = await refusal(() => dataFile(path).openBackup(backup, silent));
    assert.match(line, expected);
    assert.match(line, backup);
    assert.not.match(line, 'restoring');
    assert.equal(textsIn(path), ['newer']);
    const beside = readdirSync(files.folder).filter((name) => name.startsWith(basename(path)));
    assert.equal(beside.toSorted(), [basename(path), `${basename(path)}-owner`]);
  });
}

restored('is refused for the file itself, and for one that is not there', async () => {
  const path = await closedFile(1);
  assert.match(await refusal(() => dataFile(path).openBackup(path, silent)), /is the file itself/);
  const none = files.path();
  assert.match(await refusal(() => dataFile(path).openBackup(none, silent)), /is not there/);
});

function ofAnotherProgram(path: string): void {
  writeFileSync(path, '');
  change(path, 'CREATE TABLE another (a)');
}

function change(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

const vacuumed = suite('a vacuum');

vacuumed('gives back the room of what was deleted', async () => {
  const path = await closedFile(2_000);
  {
    await using file = openServedFile({ file: path, clock: systemClock });
    const statements = [FACTS.delete("fact <> 'fact 7'", [])];
    await file.write({ operation: 'delete', statements });
  }
  const { before, after } = await dataFile(path).vacuum(silent);
  assert.ok(after * 10 < before, `${before} bytes before, ${after} after`);
  assert.is(statSync(path).size, after);
  assert.equal(textsIn(path), [LONG]);
  assert.is(statSync(path).mode & 0o777, 0o600);
  const database = new DatabaseSync(path);
  assert.is(
    database.prepare('PRAGMA user_version').get()?.['user_version'],
    knownFileVersions().length,
  );
  database.close();
  await using _served = openServedFile({ file: path, clock: systemClock });
});

vacuumed('is refused while the file is served, and for a damaged one, which stays', async () => {
  const path = files.path();
  {
    await using file = openServedFile({ file: path, clock: systemClock });
    await putFacts(file, 3, 'a value like no other');
    const line = await refusal(() => dataFile(path).vacuum(silent));
    assert.match(line, /served by process \d+, .*; stop that one first$/);
  }
  damage(path, 'a value like no other');
  const bytes = readFileSync(path);
  assert.match(await refusal(() => dataFile(path).vacuum(silent)), /is damaged/);
  assert.ok(bytes.equals(readFileSync(path)));
  assert.not.ok(existsSync(`${path}.vacuumed`));
});

for (const group of [copied, restored, vacuumed, files.closing()]) group.run();
