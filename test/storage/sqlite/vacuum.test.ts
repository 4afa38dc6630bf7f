import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '#stdlib/clock';
import { openServedFile } from '#storage/sqlite/open-file';
import { knownFileVersions } from '#storage/sqlite/schema';
import {
  closedFile,
  damage,
  dataFile,
  FACTS,
  LONG,
  putFacts,
  refusal,
  silent,
  textsIn,
} from '#test/storage/sqlite/data-file-fixture';
import { scratchFiles } from '#test/storage/sqlite/scratch-file';

const files = scratchFiles();

const vacuumed = suite('a vacuum');

vacuumed('frees the space of deleted rows', async () => {
  const path = await closedFile(files, 2_000);
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

// Report 29: a vacuum and a restore by root left a file that the user of the service could not open.
vacuumed("and a restore keep the file's owner and mode", async () => {
  const isRoot = process.getuid?.() === 0;
  const path = await closedFile(files, 10);
  chmodSync(path, 0o640);
  if (isRoot) chownSync(path, 12_345, 12_346);
  const before = statSync(path);
  const seen = () => {
    const { uid, gid, mode } = statSync(path);
    return [uid, gid, mode];
  };
  await dataFile(path).vacuum(silent);
  assert.equal(seen(), [before.uid, before.gid, before.mode]);
  const other = await closedFile(files, 3);
  await using backup = await dataFile(path).openBackup(other, silent);
  await backup.place();
  assert.equal(seen(), [before.uid, before.gid, before.mode]);
});

const restored = suite('a restore by root');

restored('leaves no file that only root can open', async () => {
  if (process.getuid?.() !== 0) return;
  const folder = mkdtempSync(join(tmpdir(), 'sqlite-owner-'));
  try {
    chownSync(folder, 12_345, 12_346);
    const path = join(folder, 'own.db');
    {
      await using backup = await dataFile(path).openBackup(await closedFile(files, 3), silent);
      await backup.place();
    }
    for (const name of readdirSync(folder)) {
      assert.is(statSync(join(folder, name)).uid, 12_345, name);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

vacuumed(
  'is refused for a served file, and for a damaged file, which stays unchanged',
  async () => {
    const path = files.path();
    {
      await using file = openServedFile({ file: path, clock: systemClock });
      await putFacts(file, 3, 'a value like no other');
      const line = await refusal(() => dataFile(path).vacuum(silent));
      assert.match(line, /served by process \d+, .*; stop that process first$/);
    }
    damage(path, 'a value like no other');
    const bytes = readFileSync(path);
    assert.match(await refusal(() => dataFile(path).vacuum(silent)), /is damaged/);
    assert.ok(bytes.equals(readFileSync(path)));
    assert.not.ok(existsSync(`${path}.vacuumed`));
  },
);

for (const group of [vacuumed, restored, files.closing()]) group.run();
