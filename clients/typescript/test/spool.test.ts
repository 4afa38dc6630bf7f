import {
  appendFileSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { FileSpool } from '../src/file-spool.ts';
import {
  IdentityEngineError,
  ObservationBuffer,
  type Spool,
  type SpoolEntry,
  SpoolError,
} from '../src/identity-engine.ts';
import {
  done,
  numbersOf,
  observation,
  type Reply,
  START_MS,
  sceneOf,
} from './support/buffer-scene.ts';
import { rejection } from './support/clients.ts';

/** An in-memory spool; a later spool can start from its `entries`. */
class MemorySpool implements Spool {
  readonly entries: Map<string, SpoolEntry>;
  /** Error of the next `add`. */
  failure: Error | undefined;

  constructor(entries: Iterable<SpoolEntry> = []) {
    this.entries = new Map();
    for (const entry of entries) this.entries.set(entry.observation.idempotency_key, entry);
  }

  async load() {
    return [...this.entries.values()];
  }

  async add(entries: readonly SpoolEntry[]) {
    const { failure } = this;
    this.failure = undefined;
    if (failure !== undefined) throw failure;
    for (const entry of entries) this.entries.set(entry.observation.idempotency_key, entry);
  }

  async done(_: string, keys: readonly string[]) {
    for (const key of keys) this.entries.delete(key);
  }

  async close() {}
}

const silent: Reply = () => new Promise(() => {});
const lost: Reply = () => Promise.reject(new TypeError('fetch failed'));

const crashed = suite('a buffer that continues from the spool of another buffer');

// Report 3: a killed process lost its buffered observations.
crashed(
  'sends unsent observations, and sends those with unknown outcome again unchanged',
  async () => {
    const spool = new MemorySpool();
    const first = sceneOf({ spool, batchMax: 2 }, done, silent);
    for (const number of [1, 2, 3, 4, 5]) await first.buffer.add('inst_a', observation(number));
    await first.clock.run(first.clock.sleep(1_000));
    assert.equal(first.sent.map(numbersOf), [
      [1, 2],
      [3, 4],
    ]);
    const second = sceneOf({ spool: new MemorySpool(spool.entries.values()) });
    await second.buffer.add('inst_a', observation(6));
    await second.clock.run(second.buffer.flush());
    assert.equal(second.sent.map(numbersOf), [[3, 4, 5, 6]]);
    assert.equal(second.sent[0]?.observations.slice(0, 2), first.sent[1]?.observations);
    assert.is((await second.clock.run(second.buffer.close())).acknowledged, 4);
  },
);

crashed('sends the batches that close returned, and refuses to restore these batches', async () => {
  const spool = new MemorySpool();
  const { buffer, clock } = sceneOf({ spool }, lost);
  await buffer.add('inst_a', observation(1));
  const { unacknowledged } = await clock.run(buffer.close({ timeoutMs: 10 }));
  assert.is(unacknowledged.length, 1);
  assert.is(spool.entries.size, 1);
  const other = sceneOf({ spool });
  assert.throws(
    () => other.buffer.restore(unacknowledged),
    (error: Error) => error instanceof IdentityEngineError,
  );
  assert.is((await other.clock.run(other.buffer.close())).acknowledged, 1);
});

crashed('hands back observations whose keys the service may have forgotten', async () => {
  const entry = {
    ...{ instanceId: 'inst_a', timestampFrom: 'caller' as const },
    addedAtMs: START_MS - 24 * 3_600_000,
    observation: { ...observation(1, '2026-01-14T12:00:00Z'), idempotency_key: 'k' },
  };
  const { buffer, clock, sent } = sceneOf({ spool: new MemorySpool([entry]) });
  await buffer.add('inst_a', observation(2));
  const { unacknowledged } = await clock.run(buffer.close());
  assert.equal(sent.map(numbersOf), [[2]]);
  assert.equal(unacknowledged.map(numbersOf), [[1]]);
  assert.is(unacknowledged[0]?.mayHaveHappened, true);
});

const spooled = suite('a buffer with a spool');

spooled('removes acknowledged observations from the spool', async () => {
  const spool = new MemorySpool();
  const { buffer, clock } = sceneOf({ spool });
  await buffer.add('inst_a', observation(1));
  await clock.run(buffer.close());
  assert.is(spool.entries.size, 0);
});

spooled('sets timestamps before it adds, and stores moved timestamps before it sends', async () => {
  const spool = new MemorySpool();
  const timesIn = () => [...spool.entries.values()].map(({ observation: each }) => each.timestamp);
  let durable: unknown[] = [];
  const early: Reply = () =>
    done({ observations: [] }, { 'x-throttled': 'true', 'retry-after': '7' });
  const moved: Reply = (sent) => {
    durable = timesIn();
    return done(sent);
  };
  const { buffer, clock, sent } = sceneOf({ spool }, early, moved);
  for (const number of [1, 2]) await buffer.add('inst_a', observation(number));
  assert.equal(timesIn(), ['2026-01-15T12:00:00.000Z', '2026-01-15T12:00:01.000Z']);
  await clock.run(buffer.flush());
  assert.equal(durable, ['2026-01-15T12:00:07.000Z', '2026-01-15T12:00:08.000Z']);
  assert.equal(
    sent[1]?.observations.map(({ timestamp }) => timestamp),
    durable,
  );
});

spooled('rejects an observation that the spool cannot add, and continues', async () => {
  const spool = new MemorySpool();
  const { buffer, clock, sent } = sceneOf({ spool, pendingMax: 1 });
  spool.failure = new Error('ENOSPC');
  const error = await rejection(buffer.add('inst_a', observation(1)), SpoolError);
  assert.match(error.message, /ENOSPC/);
  assert.is(buffer.pending, 0);
  await buffer.add('inst_a', observation(2));
  await clock.run(buffer.flush());
  assert.equal(sent.map(numbersOf), [[2]]);
});

spooled('throws the error of an unreadable spool, and closes', async () => {
  const spool = new MemorySpool();
  spool.load = () => Promise.reject(new Error('EACCES'));
  const { buffer, clock } = sceneOf({ spool });
  await rejection(buffer.add('inst_a', observation(1)), SpoolError);
  await rejection(buffer.flush(), SpoolError);
  assert.is((await clock.run(buffer.close())).acknowledged, 0);
});

spooled('keeps the order of concurrent adds', async () => {
  const { buffer, clock, sent } = sceneOf({ spool: new MemorySpool() });
  const numbers = Array.from({ length: 50 }, (_, number) => number);
  await Promise.all(numbers.map((number) => buffer.add('inst_a', observation(number))));
  await clock.run(buffer.flush());
  assert.equal(sent.flatMap(numbersOf), numbers);
});

const files = suite('a spool in a file');
let folder = '';
files.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'spool-'));
});
files.after.each(() => rmSync(folder, { recursive: true }));

const entryOf = (number: number, key = `key ${number}`): SpoolEntry => ({
  ...{ instanceId: 'inst_a', timestampFrom: 'caller', addedAtMs: START_MS },
  observation: { ...observation(number, '2026-01-15T12:00:00Z'), idempotency_key: key },
});
const keysOf = (entries: readonly SpoolEntry[]) =>
  entries.map(({ observation: each }) => each.idempotency_key);

files('returns unfinished entries unchanged in a new process', async () => {
  const path = join(folder, 'spool');
  const spool = new FileSpool(path);
  assert.equal(await spool.load(), []);
  const big = { ...entryOf(2).observation, context: { n: 9_007_199_254_740_993n, a: 'é' } };
  await spool.add([entryOf(1)]);
  await spool.add([{ ...entryOf(2), timestampFrom: 'buffer', observation: big }, entryOf(3)]);
  await spool.done('inst_a', ['key 1']);
  // Copy the file without closing the spool, as after kill -9.
  copyFileSync(path, join(folder, 'copy'));
  const other = new FileSpool(join(folder, 'copy'));
  const [second, third] = await other.load();
  assert.equal(second, { ...entryOf(2), timestampFrom: 'buffer', observation: big });
  assert.equal(third, entryOf(3));
  await Promise.all([spool.close(), other.close()]);
});

files('has the format of both libraries', async () => {
  const path = join(folder, 'spool');
  const spool = new FileSpool(path);
  await spool.load();
  await spool.add([entryOf(1)]);
  await spool.done('inst_a', ['key 1']);
  await spool.close();
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  assert.equal(
    lines.map((line) => JSON.parse(line)),
    [
      {
        ...{ v: 1, instance: 'inst_a', timestamp_from: 'caller', added_at: START_MS },
        observation: entryOf(1).observation,
      },
      { v: 1, instance: 'inst_a', done: ['key 1'] },
    ],
  );
});

for (const torn of ['{"v":1,"inst', '{"v":1}\n', '\u0000\n', '\n']) {
  // Report 3: a spool must continue after a line torn by a crash.
  files(`ignores a torn last line: ${JSON.stringify(torn)}`, async () => {
    const path = join(folder, 'spool');
    const spool = new FileSpool(path);
    await spool.load();
    await spool.add([entryOf(1)]);
    await spool.close();
    appendFileSync(path, torn);
    const second = new FileSpool(path);
    assert.equal(keysOf(await second.load()), ['key 1']);
    await second.add([entryOf(2)]);
    await second.close();
    const third = new FileSpool(path);
    assert.equal(keysOf(await third.load()), ['key 1', 'key 2']);
    await third.close();
  });
}

files('is refused if a line before the last is damaged, and stays unchanged', async () => {
  const path = join(folder, 'spool');
  writeFileSync(path, 'damaged\n{"v":1,"instance":"inst_a","done":[]}\n');
  const before = readFileSync(path);
  const spool = new FileSpool(path);
  assert.match((await rejection(spool.load(), SpoolError)).message, /line 1/);
  assert.equal(readFileSync(path), before);
});

files('cannot be opened twice, or used before it is opened', async () => {
  const spool = new FileSpool(join(folder, 'spool'));
  await rejection(spool.add([entryOf(1)]), SpoolError);
  await spool.load();
  await rejection(new FileSpool(join(folder, '../', folder, 'spool')).load(), SpoolError);
  await spool.close();
  await rejection(spool.add([entryOf(1)]), SpoolError);
  await rejection(new FileSpool(join(folder, 'none', 'spool')).load(), SpoolError);
});

for (const [what, change] of [
  ['removed', (path: string) => rmSync(path)],
  ['truncated by another process', (path: string) => writeFileSync(path, '')],
  ['written to by another process', (path: string) => appendFileSync(path, '{}\n')],
] as const) {
  // Report 3: writes to a removed file would be lost.
  files(`accepts no more entries after the file was ${what}`, async () => {
    const path = join(folder, 'spool');
    const spool = new FileSpool(path);
    await spool.load();
    await spool.add([entryOf(1)]);
    change(path);
    for (const number of [2, 3]) {
      const error = await rejection(spool.add([entryOf(number)]), SpoolError);
      assert.match(error.message, /another process/);
    }
    await spool.close();
  });
}

files('is rewritten in order when most entries are done', async () => {
  const path = join(folder, 'spool');
  const spool = new FileSpool(path);
  await spool.load();
  const wide = (number: number) => {
    const entry = entryOf(number);
    const context = { number, text: 'x'.repeat(8_000) };
    return { ...entry, observation: { ...entry.observation, context } };
  };
  await spool.add([entryOf(-1), entryOf(-2)]);
  for (let number = 0; number < 600; number += 50) {
    const entries = Array.from({ length: 50 }, (_, index) => wide(number + index));
    await spool.add(entries);
    await spool.done('inst_a', keysOf(entries));
  }
  await spool.add([entryOf(-1)]);
  assert.ok(statSync(path).size < 1_000_000, `${statSync(path).size}`);
  await spool.close();
  const other = new FileSpool(path);
  assert.equal(keysOf(await other.load()), ['key -1', 'key -2']);
  await other.close();
});

// Report 3: a buffer had no file from which to continue.
files('delivers each observation of a killed buffer once', async () => {
  const path = join(folder, 'spool');
  const first = sceneOf({}, silent);
  const buffer = new ObservationBuffer(first.client, { spool: new FileSpool(path), delayMaxMs: 0 });
  for (const number of [1, 2, 3]) await buffer.add('inst_a', observation(number));
  copyFileSync(path, join(folder, 'copy'));
  const second = sceneOf();
  const spool = new FileSpool(join(folder, 'copy'));
  const other = new ObservationBuffer(second.client, { spool });
  assert.is((await other.close()).acknowledged, 3);
  assert.equal(second.sent.flatMap(numbersOf), [1, 2, 3]);
  assert.is((await buffer.close({ timeoutMs: 1 })).unacknowledged.length > 0, true);
});

for (const each of [crashed, spooled, files]) each.run();
