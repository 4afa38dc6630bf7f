import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { FilePorts } from '#ctl/command';
import { systemClock } from '#stdlib/clock';
import type { DataFile, FileContents } from '#storage/ports/data-file';
import { ctl } from '#test/ctl/ctl-run';

const folder = mkdtempSync(join(tmpdir(), 'identity-engine-ctl-'));
const PATH = '/data/identity-engine.db';
const CONTENTS: FileContents = { accounts: 1, instances: 2, journalGroups: 3, bytes: 4_096 };

/** A fake data file. `placed` lists the backups that were restored. */
function fileUnderTest({ replaces = true, isDamaged = false } = {}) {
  const placed: string[] = [];
  const file: DataFile = {
    path: PATH,
    async backup(target, watch) {
      assert.is(statSync(target).mode & 0o777, 0o600);
      assert.is(statSync(target).size, 0);
      watch('copied', 1, 4);
      if (isDamaged) throw new Error(`${PATH} is damaged`);
      writeFileSync(target, 'a copy');
      return CONTENTS;
    },
    async openBackup(backup) {
      return {
        contents: CONTENTS,
        replaces,
        async place() {
          placed.push(backup);
          return replaces ? `${PATH}.before` : undefined;
        },
        [Symbol.asyncDispose]: async () => undefined,
      };
    },
    vacuum: async () => ({ before: 300, after: 100 }),
  };
  const ending = new AbortController();
  let nowMs = 0;
  // Each reading of the clock is three seconds later, so that every step prints progress.
  const clock = { ...systemClock, monotonicMs: () => (nowMs += 3_000) };
  const ports: FilePorts = { clock, file, interrupted: ending.signal };
  return { file: ports, placed, end: () => ending.abort() };
}

const backup = suite('ctl backup');

backup('writes a new file that only its user can read, and prints its counts', async () => {
  const path = join(folder, 'one.backup');
  const { code, out, err } = await ctl(['backup', path], fileUnderTest());
  assert.is(code, 0, err);
  assert.is(out, 'done: 1 account, 2 instances, 3 journal groups, 4096 bytes');
  assert.is(err, 'copied: 25 % of 4 bytes');
  assert.is(readFileSync(path, 'utf8'), 'a copy');
  assert.is(statSync(path).mode & 0o777, 0o600);
  assert.not.ok(existsSync(`${path}.part`));
});

backup('does not overwrite a file', async () => {
  const path = join(folder, 'there.backup');
  writeFileSync(path, 'something else');
  const { code, err } = await ctl(['backup', path], fileUnderTest());
  assert.is(code, 1);
  assert.is(err, `ctl: ${path} exists already: name a new file`);
  assert.is(readFileSync(path, 'utf8'), 'something else');
});

backup('removes a damaged or interrupted backup', async () => {
  const path = join(folder, 'none.backup');
  const damaged = await ctl(['backup', path], fileUnderTest({ isDamaged: true }));
  assert.is(damaged.code, 1);
  assert.match(damaged.err, /ctl: \/data\/identity-engine.db is damaged$/);
  const ended = fileUnderTest();
  ended.end();
  const { code, err } = await ctl(['backup', path], ended);
  assert.is(code, 1);
  assert.is(err, 'ctl: interrupted: nothing was changed');
  for (const left of [path, `${path}.part`]) assert.not.ok(existsSync(left), left);
});

const restore = suite('ctl restore');

restore('asks for the path, and replaces nothing after another answer', async () => {
  for (const [typed, isPlaced] of [
    ['yes', false],
    [PATH, true],
  ] as const) {
    const target = fileUnderTest();
    const { code, out, err } = await ctl(['restore', 'some.backup'], { ...target, typed });
    assert.equal(target.placed, isPlaced ? ['some.backup'] : []);
    assert.is(code, isPlaced ? 0 : 1);
    if (isPlaced) assert.match(out, `${PATH}.before`);
    else assert.is(err, 'ctl: the path does not match: nothing was changed');
  }
});

restore('needs a terminal or --yes to replace a file, but not to create a file', async () => {
  const asked = fileUnderTest();
  assert.match((await ctl(['restore', 'some.backup'], asked)).err, /add --yes/);
  assert.equal(asked.placed, []);
  assert.is((await ctl(['restore', 'some.backup', '--yes'], asked)).code, 0);
  const first = fileUnderTest({ replaces: false });
  const { code, out } = await ctl(['restore', 'some.backup'], first);
  assert.is(code, 0);
  assert.is(out, `done: ${PATH} has 1 account, 2 instances, 3 journal groups, 4096 bytes`);
});

const vacuum = suite('ctl vacuum');

vacuum('prints the size before and after', async () => {
  const { code, out } = await ctl(['vacuum'], fileUnderTest());
  assert.is(code, 0);
  assert.is(out, 'done: 300 bytes before, 100 bytes after');
});

const closing = suite('the files of this test');
closing('are removed', () => rmSync(folder, { recursive: true }));

for (const group of [backup, restore, vacuum, closing]) group.run();
