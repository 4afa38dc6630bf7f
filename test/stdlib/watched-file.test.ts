import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { derivedFrom, WatchedFiles } from '#stdlib/files';
import { LookClock } from '#test/support/look-clock';

const folder = mkdtempSync(join(tmpdir(), 'watched-'));

/** Two related files, which are usable if their contents agree. */
function newScene() {
  const place = mkdtempSync(join(folder, 'of-'));
  const [lock, key] = [join(place, 'lock'), join(place, 'key')] as const;
  const write = (file: 'lock' | 'key', text: string) => writeFileSync(join(place, file), text);
  const writeBoth = (text: string) => {
    write('lock', text);
    write('key', text);
  };
  writeBoth('first');
  const clock = new LookClock();
  const refused: string[] = [];
  const parsed: string[] = [];
  const files = new WatchedFiles({
    paths: [lock, key],
    clock,
    parse(contents) {
      const [one, other] = [contents.get(lock), contents.get(key)];
      if (typeof one === 'string') throw new Error(`${lock} ${one}`);
      parsed.push(`${one} ${other}`);
      if (String(one) !== String(other)) throw new Error(`${key} is not of ${lock}`);
      return String(one);
    },
    onRefused: ({ message }, isNews) => refused.push(`${isNews ? 'news: ' : ''}${message}`),
  });
  return { place, lock, key, write, writeBoth, clock, refused, parsed, files };
}

const watched = suite('watched files');

watched('are read immediately', () => {
  const { files, parsed } = newScene();
  assert.is(files.current, 'first');
  assert.equal(parsed, ['first first']);
});

watched('are used after two polls have found the same contents', async () => {
  const { files, clock, writeBoth, refused } = newScene();
  const heard: string[] = [];
  using _ = files.onChange((value) => heard.push(value));
  writeBoth('second');
  assert.is(files.current, 'first');
  await clock.look();
  assert.is(files.current, 'first');
  await clock.look();
  assert.is(files.current, 'second');
  await clock.looks();
  assert.equal(heard, ['second']);
  assert.equal(refused, []);
});

watched('are not parsed again while unchanged', async () => {
  const { clock, parsed, writeBoth } = newScene();
  await clock.looks();
  // Same content with a newer modification time.
  writeBoth('first');
  await clock.looks();
  assert.equal(parsed, ['first first']);
});

watched('are never parsed while half-written', async () => {
  const { files, clock, write, parsed, refused } = newScene();
  write('lock', 'second');
  await clock.look();
  write('key', 'second');
  await clock.looks();
  assert.is(files.current, 'second');
  assert.equal(parsed, ['first first', 'second second']);
  assert.equal(refused, []);
});

watched('are not used while they change at every poll', async () => {
  const { files, clock, writeBoth } = newScene();
  for (const text of ['second', 'third', 'fourth']) {
    writeBoth(text);
    await clock.look();
    assert.is(files.current, 'first');
  }
  await clock.look();
  assert.is(files.current, 'fourth');
});

watched('are followed through symbolic links that an orchestrator swaps', async () => {
  const place = mkdtempSync(join(folder, 'mounted-'));
  for (const [version, text] of Object.entries({ '..1': 'first', '..2': 'second' })) {
    mkdirSync(join(place, version));
    writeFileSync(join(place, version, 'secret'), text);
  }
  symlinkSync('..1', join(place, '..data'));
  symlinkSync(join('..data', 'secret'), join(place, 'secret'));
  const path = join(place, 'secret');
  const clock = new LookClock();
  const onRefused = ({ message }: Error) => assert.unreachable(message);
  const parse = (contents: ReadonlyMap<string, unknown>) => String(contents.get(path));
  using files = new WatchedFiles({ paths: [path], clock, parse, onRefused });
  symlinkSync('..2', join(place, '..new'));
  renameSync(join(place, '..new'), join(place, '..data'));
  await clock.looks();
  assert.is(files.current, 'second');
});

watched('are ignored after the watch has ended', async () => {
  const { files, clock, writeBoth } = newScene();
  files.onChange(() => assert.unreachable());
  writeBoth('second');
  await clock.look();
  files[Symbol.dispose]();
  clock.advance(60_000);
  assert.is(files.current, 'first');
});

watched('do not notify removed listeners', async () => {
  const { files, clock, writeBoth } = newScene();
  files.onChange(() => assert.unreachable())[Symbol.dispose]();
  writeBoth('second');
  await clock.looks();
  assert.is(files.current, 'second');
});

const refusing = suite('when changed files are unusable');

refusing('the value stays, every poll is reported, and only the first poll as news', async () => {
  const { files, clock, write, refused, lock, key } = newScene();
  write('lock', 'second');
  await clock.look();
  assert.equal(refused, []);
  await clock.looks();
  const why = `${key} is not of ${lock}`;
  assert.equal(refused, [`news: ${why}`, why]);
  assert.is(files.refusal, why);
  assert.is(files.current, 'first');
});

refusing('another unusable version is reported as news', async () => {
  const { clock, write, refused, lock, key } = newScene();
  const why = `${key} is not of ${lock}`;
  for (const text of ['second', 'third']) {
    write('lock', text);
    await clock.looks();
  }
  assert.equal(refused, [`news: ${why}`, `news: ${why}`]);
});

refusing('repaired files are used', async () => {
  const { files, clock, write, refused } = newScene();
  write('lock', 'second');
  await clock.looks();
  write('key', 'second');
  await clock.looks();
  assert.is(files.current, 'second');
  assert.is(refused.length, 1);
  assert.is(files.refusal, undefined);
});

refusing('restoring the previous files ends the refusal without a change', async () => {
  const { files, clock, write, refused } = newScene();
  files.onChange(() => assert.unreachable());
  write('lock', 'second');
  await clock.looks();
  write('lock', 'first');
  await clock.look();
  assert.is(files.refusal, undefined);
  await clock.look();
  write('lock', 'second');
  await clock.looks();
  assert.is(files.current, 'first');
  assert.is(refused.length, 2);
});

refusing('a missing file is named', async () => {
  const { files, clock, lock, refused, writeBoth } = newScene();
  rmSync(lock);
  await clock.looks();
  assert.equal(refused, [`news: ${lock} cannot be read (ENOENT)`]);
  assert.is(files.current, 'first');
  writeBoth('second');
  await clock.looks();
  assert.is(files.current, 'second');
});

refusing('files that become valid with time are then used', async () => {
  const path = join(mkdtempSync(join(folder, 'time-')), 'secret');
  writeFileSync(path, '0');
  const clock = new LookClock();
  const startMs = clock.wallMs();
  const parse = (contents: ReadonlyMap<string, unknown>) => {
    const fromMs = startMs + Number(contents.get(path));
    if (clock.wallMs() < fromMs) throw new Error('not yet');
    return fromMs - startMs;
  };
  let refusals = 0;
  const onRefused = () => {
    refusals += 1;
  };
  using files = new WatchedFiles({ paths: [path], clock, parse, onRefused });
  writeFileSync(path, '7000');
  for (let look = 0; look < 4; look += 1) await clock.look();
  assert.is(files.current, 7_000);
  assert.is(refusals, 2);
});

refusing('files that are unusable at the start are rejected immediately', () => {
  const path = join(folder, 'nowhere');
  const parse = () => {
    throw new Error('of no use');
  };
  const onRefused = () => assert.unreachable();
  const clock = new LookClock();
  assert.throws(() => new WatchedFiles({ paths: [path], clock, parse, onRefused }), 'of no use');
});

const derived = suite('a value derived from a watched file');

derived('is computed once per version of the file', async () => {
  const { files, clock, writeBoth } = newScene();
  let made = 0;
  const upper = derivedFrom(files, (text) => {
    made += 1;
    return text.toUpperCase();
  });
  const heard: string[] = [];
  upper.onChange((value) => heard.push(value));
  assert.equal([upper.current, upper.current, made], ['FIRST', 'FIRST', 1]);
  writeBoth('second');
  await clock.looks();
  assert.equal([upper.current, upper.current, made, heard], ['SECOND', 'SECOND', 2, ['SECOND']]);
});

derived.after(() => rmSync(folder, { recursive: true }));

for (const each of [watched, refusing, derived]) each.run();
