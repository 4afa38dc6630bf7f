import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const folder = mkdtempSync(join(tmpdir(), 'identity-engine-backup-'));
const [log, archive, replay] = ['log', 'archive', 'replay'].map((name) => join(folder, name)) as [
  string,
  string,
  string,
];

function script(name: string, ...args: readonly string[]): string {
  return execFileSync('sh', [join('deploy/backup', name), ...args], { encoding: 'utf8' }).trim();
}

/** Appends text to a commit log segment. */
function write(number: number, text: string): void {
  appendFileSync(join(log, segment(number)), text);
}

function close(number: number): void {
  const name = segment(number);
  script('archive-segment.sh', join(log, name), name, archive);
}

const segment = (number: number) => `CommitLog-7-${number}.log`;

const scripts = suite('the backup scripts');

scripts.before(() => {
  mkdirSync(log);
  mkdirSync(archive);
});
scripts.after(() => rmSync(folder, { recursive: true }));

scripts('collect the log up to the mark, and no later data', () => {
  write(1, 'one');
  close(1);
  write(2, 'two');
  write(3, '');
  const mark = script('mark-log.sh', log, archive);
  assert.match(mark, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  write(2, ' and later');
  close(2);
  write(3, 'later');
  write(4, 'later');
  rmSync(join(log, segment(1)));
  script('collect-log.sh', archive, mark, replay);
  const found = readdirSync(replay).toSorted();
  assert.equal(found, [segment(1), segment(2), segment(3)]);
  assert.equal(
    found.map((name) => readFileSync(join(replay, name), 'utf8')),
    ['one', 'two', ''],
  );
});

scripts('include segments that were archived before the mark', () => {
  rmSync(join(log, segment(2)));
  const mark = script('mark-log.sh', log, archive);
  const target = join(folder, 'later');
  script('collect-log.sh', archive, mark, target);
  const texts = readdirSync(target).toSorted();
  assert.equal(texts, [1, 2, 3, 4].map(segment));
  assert.is(readFileSync(join(target, segment(2)), 'utf8'), 'two and later');
});

scripts('refuse a missing mark and an existing folder', () => {
  for (const args of [
    [archive, '2020-01-01T00:00:00.000Z', join(folder, 'none')],
    [archive, readdirSync(join(archive, 'marks'))[0] ?? '', replay],
  ]) {
    assert.throws(() => script('collect-log.sh', ...args), /Command failed/);
  }
});

scripts('leave no gap if the log grows during the copy', () => {
  const [busyLog, busyArchive, programs] = ['busy-log', 'busy-archive', 'programs'].map((name) => {
    mkdirSync(join(folder, name));
    return join(folder, name);
  }) as [string, string, string];
  for (const number of [1, 2]) writeFileSync(join(busyLog, segment(number)), '');
  // After each copy, append to both segments, the older segment first.
  const append = [1, 2].map((number) => `echo more >>"${join(busyLog, segment(number))}"`);
  const copying = ['#!/bin/sh', '/bin/cp "$@"', ...append, ''].join('\n');
  writeFileSync(join(programs, 'cp'), copying, { mode: 0o755 });
  const env = { ...process.env, PATH: `${programs}:${process.env['PATH']}` };
  const args = ['deploy/backup/mark-log.sh', busyLog, busyArchive];
  const mark = execFileSync('sh', args, { encoding: 'utf8', env }).trim();
  const textOf = (number: number) =>
    readFileSync(join(busyArchive, 'marks', mark, segment(number)), 'utf8');
  assert.equal([1, 2].map(textOf), ['more\n', '']);
});

scripts('remove segments older than a snapshot, and report a missing segment', () => {
  const [old, middle, young] = [7, 8, 9].map((number) => {
    const path = join(archive, segment(number));
    writeFileSync(path, '');
    return path;
  }) as [string, string, string];
  const mark = script('mark-log.sh', log, archive);
  const begun = join(folder, 'begun');
  writeFileSync(begun, '');
  const [longAgo, soon] = [new Date('2026-01-01T00:00:00Z'), new Date('2099-01-01T00:00:00Z')];
  for (const name of readdirSync(archive)) utimesSync(join(archive, name), longAgo, longAgo);
  for (const path of [middle, young, join(archive, 'marks', mark)]) utimesSync(path, soon, soon);
  script('forget-log.sh', archive, begun);
  assert.not.ok(existsSync(old));
  assert.equal(readdirSync(join(archive, 'marks')), [mark]);
  script('collect-log.sh', archive, mark, join(folder, 'of-the-rest'));
  const found = readdirSync(join(folder, 'of-the-rest'));
  for (const number of [8, 9]) assert.ok(found.includes(segment(number)));
  writeFileSync(old, '');
  rmSync(middle);
  assert.throws(
    () => script('collect-log.sh', archive, mark, join(folder, 'gap')),
    new RegExp(`${segment(8)} is missing`),
  );
});

scripts('copy only the tables of a snapshot', () => {
  const data = join(folder, 'data');
  const table = join(data, 'identity_engine', 'heads-01');
  for (const name of ['snapshots/wanted', 'snapshots/other', 'backups']) {
    mkdirSync(join(table, name), { recursive: true });
    writeFileSync(join(table, name, `${name.replace('/', '-')}-Data.db`), name);
  }
  writeFileSync(join(table, 'snapshots/wanted/manifest.json'), '{}');
  const kept = join(folder, 'kept');
  script('keep-snapshot.sh', data, 'wanted', kept);
  const files = readdirSync(kept, { recursive: true, withFileTypes: true });
  assert.equal(
    files.filter((entry) => entry.isFile()).map(({ name }) => name),
    ['snapshots-wanted-Data.db'],
  );
  assert.ok(existsSync(join(kept, 'identity_engine', 'heads-01', 'snapshots-wanted-Data.db')));
});

scripts.run();
