import {
  copyFileSync,
  existsSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { systemClock } from '#stdlib/clock';
import { RESULT_NAMES } from '#storage/sqlite/failures';
import { openFileOfTool, openServedFile } from '#storage/sqlite/open-file';
import { assertOneName, mountOf } from '#storage/sqlite/paths';
import {
  closedFile,
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
const served = (file: string) => openServedFile({ file, clock: systemClock });

/** Copies a file and its companion files to a new path, as after a crash. */
function copyOf(path: string, ...ends: string[]): string {
  const target = files.path();
  for (const end of ends) copyFileSync(`${path}${end}`, `${target}${end}`);
  return target;
}

const place = suite('a file that is no longer at its path');

for (const end of ['', '-wal']) {
  for (const [how, act] of [
    ['moved', (path: string) => renameSync(path, `${path}.moved`)],
    ['replaced', (path: string) => replace(path)],
  ] as const) {
    // Report 26: a write was acknowledged that no start would find.
    place(
      `accepts no write after its ${end || 'file'} was ${how}, but accepts writes after the return`,
      async () => {
        const path = files.path();
        await using file = served(path);
        await putFacts(file, 1, 'before');
        act(`${path}${end}`);
        const error = await rejection(() => putFacts(file, 1, 'after'));
        assert.instance(error, Fault);
        const { code, cause, isOutcomeUnknown } = error as Fault;
        assert.equal([code, isOutcomeUnknown], ['service_unavailable', true]);
        assert.match(String(cause), /SQLITE_READONLY: .* while it is served/);
        const again = (await rejection(() => putFacts(file, 1, 'after'))) as Fault;
        assert.equal([again.code, again.isOutcomeUnknown], ['service_unavailable', false]);
        assert.match(file.place?.difference() ?? '', /was (moved|replaced)/);
        renameSync(`${path}${end}.moved`, `${path}${end}`);
        assert.is(file.place?.difference(), undefined);
        await putFacts(file, 1, 'back');
      },
    );
  }
}

// Report 26: the first long read after a move removed the WAL, with acknowledged data.
place('is not reopened before its return, so that its WAL stays', async () => {
  const path = files.path();
  await using file = served(path);
  await putFacts(file, 1, 'acknowledged');
  const wal = readFileSync(`${path}-wal`);
  // SQLite creates a missing file, and deletes the WAL of an empty file.
  for (const act of [renamed, replace]) {
    act(path);
    const isMissing = !existsSync(path);
    for (const ask of [() => file.read(COUNT), () => file.check()]) {
      assert.match(String(causeOf(await rejection(ask))), /while it is served/);
    }
    assert.equal([!existsSync(path), readFileSync(`${path}-wal`)], [isMissing, wal]);
    renameSync(`${path}.moved`, path);
    assert.is(file.place?.difference(), undefined);
  }
  assert.equal(await file.read(COUNT), [[1]]);
  await file.check();
  await putFacts(file, 1, 'back');
});

/** A long read. The first long read opens the reader thread. */
const COUNT = {
  ...{ operation: 'count', isLong: true, values: [] },
  sql: "SELECT count(*) AS rows FROM cluster_facts WHERE fact LIKE 'fact %'",
};

const causeOf = (error: unknown): unknown =>
  error instanceof Error ? (error.cause ?? error) : error;

function renamed(path: string): void {
  renameSync(path, `${path}.moved`);
}

function replace(path: string): void {
  renameSync(path, `${path}.moved`);
  copyFileSync(`${path}.moved`, path);
}

// Report 26: the WAL of the former file was written into the file that took its place.
place('is not opened with the WAL of the file that it replaced', async () => {
  const path = await closedFile(files, 3, 'former');
  const other = await closedFile(files, 3, 'other');
  let wal: Buffer;
  {
    await using file = served(path);
    await putFacts(file, 1, LONG);
    wal = readFileSync(`${path}-wal`);
  }
  renameSync(other, path);
  writeFileSync(`${path}-wal`, wal);
  const before = readFileSync(path);
  const open = async () => served(path);
  assert.match(await refusal(open), /has replaced another file while that file was served/);
  assert.match(
    await refusal(() => dataFile(path).backup(files.path(), silent)),
    /has replaced another file/,
  );
  assert.equal(readFileSync(path), before);
  rmSync(`${path}-wal`);
  await served(path)[Symbol.asyncDispose]();
  assert.equal(textsIn(path), ['other']);
});

const marked = suite('the open mark of a file');

// Report 28: the copy of an open file, without its WAL, began as an empty service.
marked('refuses a copy without its WAL, and the refusal names the next step', async () => {
  const path = files.path();
  await using file = served(path);
  await putFacts(file, 3, 'kept');
  const copy = copyOf(path, '');
  const open = async () => served(copy);
  assert.match(
    await refusal(open),
    /without \S+-wal, which holds .*copy both files, or use ctl backup/,
  );
  const tool = async () => openFileOfTool({ file: copy, clock: systemClock });
  assert.match(await refusal(tool), /without \S+-wal, which holds/);
  const target = files.path();
  assert.match(await refusal(() => dataFile(target).openBackup(copy, silent)), /without \S+-wal/);
  // The last resort: accept the copy explicitly.
  await using backup = await dataFile(target).openBackup(copy, silent, true);
  await backup.place();
});

marked('allows a copy with its WAL, even after a tool has checkpointed the WAL', async () => {
  const path = files.path();
  await using file = served(path);
  await putFacts(file, 3, 'kept');
  for (const isLookedAt of [false, true]) {
    const copy = copyOf(path, '', '-wal');
    if (isLookedAt) {
      await openFileOfTool({ file: copy, clock: systemClock })[Symbol.asyncDispose]();
      assert.throws(() => readFileSync(`${copy}-wal`), /ENOENT/);
    }
    await served(copy)[Symbol.asyncDispose]();
    assert.equal(textsIn(copy), ['kept']);
  }
});

marked('is absent after a clean close, in a backup and after a vacuum', async () => {
  const path = files.path();
  const backup = files.path();
  {
    await using file = served(path);
    await putFacts(file, 3, 'kept');
    writeFileSync(backup, '');
    await dataFile(path).backup(backup, silent);
  }
  await dataFile(path).vacuum(silent);
  for (const from of [path, backup]) {
    const copy = copyOf(from, '');
    await served(copy)[Symbol.asyncDispose]();
    assert.equal(textsIn(copy), ['kept']);
  }
});

const names = suite('a file');

// Report 6: two processes served one file by two names, and acknowledged data disappeared.
names('with two names is refused, and the refusal contains the other name', async () => {
  const path = await closedFile(files, 1);
  const other = files.path();
  linkSync(path, other);
  for (const [name, shown] of [
    [path, other],
    [other, path],
  ] as const) {
    assert.match(await refusal(async () => served(name)), new RegExp(`2 names \\(${shown}\\)`));
  }
  rmSync(other);
  await served(path)[Symbol.asyncDispose]();
});

const MOUNTS = `1 0 8:1 / / rw - ext4 /dev/sda1 rw
2 1 0:5 / /srv rw shared:1 - nfs4 server:/srv rw
3 1 8:1 /x.db /data\\040of/x.db rw - ext4 /dev/sda1 rw
4 2 8:2 / /srv/local rw - xfs /dev/sdb1 rw
`;

names('that is mounted as a single file is refused', async () => {
  const path = await closedFile(files, 1);
  const mounts = `${MOUNTS}5 1 8:1 /y.db ${path} rw - ext4 /dev/sda1 rw\n`;
  const message = await refusal(async () => assertOneName(path, mounts));
  assert.match(message, /mounted as a single file/);
  assert.is(mountOf('/data of/x.db', MOUNTS)?.point, '/data of/x.db');
});

// Report 30: network file systems were not recognised.
names('on a network file system is refused, but not on a disk that is mounted below', async () => {
  const path = await closedFile(files, 1);
  const mounts = `${MOUNTS}5 1 0:7 / ${files.folder} rw - nfs4 server:/x rw\n`;
  assert.match(
    await refusal(async () => assertOneName(path, mounts)),
    /network file system \(nfs4/,
  );
  assertOneName(path, MOUNTS);
  const typeOf = (file: string) => mountOf(file, MOUNTS)?.type;
  assert.equal(['/srv/x.db', '/srv/local/x.db', '/srvx/x.db'].map(typeOf), ['nfs4', 'xfs', 'ext4']);
});

const PAGE_BYTES = 4_096;

const damaged = suite('a file with a damaged page');

/** A file whose middle pages are damaged. They contain rows; the start itself reads other pages. */
async function fileWithDamage(): Promise<string> {
  const path = await closedFile(files, 2_000);
  const bytes = readFileSync(path);
  const middle = Math.floor(bytes.length / PAGE_BYTES / 2);
  assert.ok(middle > 200, `the middle is page ${middle}`);
  for (let page = middle; page < middle + 20; page += 1) {
    bytes.fill(0xff, page * PAGE_BYTES, page * PAGE_BYTES + 64);
  }
  writeFileSync(path, bytes);
  return path;
}

// Report 27: the start ended with "internal error", or became ready without a shard.
damaged('is detected by the check at the start, with file, result code and next step', async () => {
  await using file = served(await fileWithDamage());
  const message = await refusal(() => file.check());
  assert.match(message, /\.db: SQLITE_CORRUPT: .*restore the newest backup/);
});

// Catches a stop that waits for the check, half a minute for two gigabytes on a cold disk. The
// check reads 100 pages before it looks for the request to close.
damaged('does not matter if the file is closed before the check reads it', async () => {
  const file = served(await fileWithDamage());
  const checking = file.check();
  await file[Symbol.asyncDispose]();
  await checking;
});

const runbook = suite('the runbook');

runbook('explains each SQLite result code', () => {
  const text = readFileSync('docs/runbook.md', 'utf8');
  for (const name of RESULT_NAMES) assert.match(text, `\`${name}\``);
});

for (const each of [place, marked, names, damaged, runbook, files.closing()]) each.run();
