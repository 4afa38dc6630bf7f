import {
  copyFileSync,
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
import { systemClock } from '#stdlib/clock';
import { openServedFile } from '#storage/sqlite/open-file';
import { openConnection } from '#storage/sqlite/tables';
import {
  closedFile,
  damage,
  dataFile,
  LONG,
  putFacts,
  refusal,
  rejection,
  silent,
  textsIn,
} from '#test/storage/sqlite/data-file-fixture';
import { scratchFiles } from '#test/storage/sqlite/scratch-file';

const files = scratchFiles();

/** Number of rows whose checksums (2^31 on average) have a sum above 2^48. */
const MANY = 200_000;

/** Path of an empty backup file. */
function emptyFile(): string {
  const path = files.path();
  writeFileSync(path, '', { mode: 0o600 });
  return path;
}

const copied = suite('a backup');

copied('of a file under continuous writes ends, and has the state of a single moment', async () => {
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
    'the copy never begins again',
  );
  assert.ok(writes > 5, `${writes} writes`);
  assert.is(textsIn(target).length, 2, 'the backup must contain a write as a whole or not at all');
  assert.is(contents.bytes, statSync(target).size);
  assert.is(statSync(target).mode & 0o777, 0o600);
});

copied('can be cancelled between two portions', async () => {
  const path = await closedFile(files, 2_000);
  const stop = new Error('stop');
  const error = await rejection(() =>
    dataFile(path).backup(emptyFile(), () => {
      throw stop;
    }),
  );
  assert.is(error, stop);
});

copied('is refused for a row that has changed on disk', async () => {
  const path = await closedFile(files, 3, 'a value like no other');
  damage(path, 'a value like no other');
  const line = await refusal(() => dataFile(path).backup(emptyFile(), silent));
  assert.match(line, /is damaged: the row fact \d of cluster_facts does not match its checksum/);
});

copied('accepts rows whose sum of checksums exceeds 48 bits', async () => {
  const path = await closedFile(files, MANY, 'x');
  const contents = await dataFile(path).backup(emptyFile(), silent);
  assert.is(contents.bytes, statSync(path).size);
});

copied('is refused for a missing row', async () => {
  const path = await closedFile(files, 3);
  const database = openConnection(path);
  const sql = "SELECT sql FROM sqlite_schema WHERE name = 'cluster_facts_deleted'";
  const trigger = String(database.prepare(sql).get()?.['sql']);
  // Removes the row without updating the checksum.
  database.exec('DROP TRIGGER cluster_facts_deleted');
  database.exec("DELETE FROM cluster_facts WHERE fact = 'fact 1'");
  database.exec(trigger);
  database.close();
  const line = await refusal(() => dataFile(path).backup(emptyFile(), silent));
  assert.match(line, /is damaged: rows of cluster_facts are missing/);
});

copied('is refused for a page that has changed on disk', async () => {
  const path = await closedFile(files, 500);
  const bytes = readFileSync(path);
  // Damages the type byte of each page except the first.
  for (let at = 4_096; at < bytes.length; at += 4_096) bytes[at] = 0xff;
  writeFileSync(path, bytes);
  assert.match(
    await refusal(() => dataFile(path).backup(emptyFile(), silent)),
    /damaged|malformed/,
  );
});

const restored = suite('a restore');

restored('replaces the file with the backup and keeps the old file', async () => {
  const [path, backup] = [await closedFile(files, 3, 'newer'), await closedFile(files, 3, 'older')];
  await using opened = await dataFile(path).openBackup(backup, silent);
  assert.ok(opened.replaces);
  assert.equal(textsIn(path), ['newer'], 'nothing has changed before the backup is placed');
  const kept = await opened.place();
  assert.equal(textsIn(path), ['older']);
  assert.equal(textsIn(kept ?? ''), ['newer']);
  assert.is(statSync(path).mode & 0o777, 0o600);
  assert.equal(textsIn(backup), ['older'], 'the backup stays');
});

restored('needs no existing file, and leaves no other files', async () => {
  const backup = await closedFile(files, 3, 'older');
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

restored('accepts a file after a crash, with its WAL', async () => {
  const served = files.path();
  const backup = files.path();
  await using file = openServedFile({ file: served, clock: systemClock });
  await putFacts(file, 3, 'in the WAL');
  for (const end of ['', '-wal']) copyFileSync(`${served}${end}`, `${backup}${end}`);
  const path = await closedFile(files, 3, 'newer');
  await using opened = await dataFile(path).openBackup(backup, silent);
  await opened.place();
  assert.equal(textsIn(path), ['in the WAL']);
});

restored("keeps the old file's WAL after a crash", async () => {
  const served = files.path();
  const path = files.path();
  await using file = openServedFile({ file: served, clock: systemClock });
  await putFacts(file, 3, 'in the WAL');
  for (const end of ['', '-wal']) copyFileSync(`${served}${end}`, `${path}${end}`);
  await using opened = await dataFile(path).openBackup(await closedFile(files, 3, 'older'), silent);
  const kept = await opened.place();
  assert.equal(textsIn(path), ['older']);
  assert.equal(textsIn(kept ?? ''), ['in the WAL']);
});

restored('keeps a file that SQLite cannot open', async () => {
  const path = files.path();
  writeFileSync(path, 'no file of SQLite');
  writeFileSync(`${path}-wal`, 'content of the WAL');
  await using opened = await dataFile(path).openBackup(await closedFile(files, 3, 'older'), silent);
  const kept = (await opened.place()) ?? '';
  assert.equal(textsIn(path), ['older']);
  assert.is(readFileSync(kept, 'utf8'), 'no file of SQLite');
  assert.is(readFileSync(`${kept}-wal`, 'utf8'), 'content of the WAL');
});

restored('is refused while the file is served', async () => {
  const path = files.path();
  await using _file = openServedFile({ file: path, clock: systemClock });
  const backup = await closedFile(files, 1);
  const line = await refusal(() => dataFile(path).openBackup(backup, silent));
  assert.match(
    line,
    new RegExp(`served by process ${process.pid}, since .*; stop that process first$`),
  );
});

const UNSOUND: [string, (path: string) => void, RegExp][] = [
  ['of another program', ofAnotherProgram, /is a SQLite file of another program/],
  [
    'of a newer version',
    (path) => change(path, 'PRAGMA user_version = 99'),
    /version 99; .* newer/,
  ],
  ['without tables', (path) => writeFileSync(path, ''), /has no tables/],
  ['that is not an SQLite file', (path) => writeFileSync(path, LONG), /is not an SQLite file/],
  ['that is truncated', (path) => truncateSync(path, statSync(path).size - 4_096), /is truncated/],
  ['with a damaged row', (path) => damage(path, 'a value like no other'), /is damaged: the row/],
];

for (const [what, spoil, expected] of UNSOUND) {
  restored(`is refused for a backup ${what}, without changes`, async () => {
    const path = await closedFile(files, 3, 'newer');
    const backup = await closedFile(files, 3, 'a value like no other');
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

restored('is refused for the file to restore, and for a missing file', async () => {
  const path = await closedFile(files, 1);
  assert.match(
    await refusal(() => dataFile(path).openBackup(path, silent)),
    /is the file to restore/,
  );
  const none = files.path();
  assert.match(await refusal(() => dataFile(path).openBackup(none, silent)), /does not exist/);
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

const foreign = suite('a backup with a foreign schema object');

for (const [statement, named] of [
  ['CREATE TRIGGER t AFTER INSERT ON heads BEGIN DELETE FROM accounts; END', 'trigger t'],
  ['CREATE VIEW v AS SELECT * FROM accounts', 'view v'],
  ['CREATE TABLE more (a)', 'table more'],
  ['CREATE INDEX i ON accounts (state)', 'index i'],
  ['DROP TRIGGER heads_inserted', 'trigger heads_inserted'],
  ['ALTER TABLE billing ADD COLUMN a INTEGER', 'table billing'],
] as const) {
  // Report 15: `ctl restore` accepted a backup with an added trigger.
  foreign(`is refused, and the refusal names the ${named}`, async () => {
    const backup = await closedFile(files, 3);
    const database = new DatabaseSync(backup);
    database.exec(statement);
    database.close();
    const path = await closedFile(files, 2);
    const line = await refusal(() => dataFile(path).openBackup(backup, silent));
    assert.match(line, new RegExp(`its ${named} (is missing|differs from|does not belong)`));
    assert.equal(textsIn(path), [LONG]);
  });
}

for (const group of [foreign, copied, restored, files.closing()]) group.run();
