import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { JournalScan } from '#cluster/failure-watch';
import { appendOf } from '#test/storage/contracts/journal-fixture';
import { memoryJournalStore } from '#test/storage/memory/journal-store';
import { memoryShardStore } from '#test/storage/memory/shard-store';
import { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';

const HOUR_MS = 60 * 60 * 1_000;
const RECORDS = new TextEncoder().encode('[1,[]]');

/** The journal scan of `me`, and the sealed journals of three other incarnations. */
async function journalsUnderTest() {
  const clock = new ManualClock();
  const journals = memoryJournalStore(clock);
  const shards = memoryShardStore();
  const begin = async (...names: string[]) => {
    for (const name of names) await journals.begin(name, `${name}:1`);
  };
  await begin('me', 'old', 'owner', 'limiter');
  for (const name of ['old', 'owner', 'limiter']) await journals.seal(name);
  await shards.change({ service: 'engine', shard: 3, from: undefined, owner: 'owner' });
  await shards.change({ service: 'limiter', shard: 0, from: undefined, owner: 'limiter' });
  const onBug = (error: unknown) => assert.unreachable(String(error));
  const scan = new JournalScan('me', { clock, journals, shards, onBug });
  const names = async () => (await journals.list()).map(({ incarnation }) => incarnation).sort();
  const append = (incarnation: string, slot: number) =>
    journals.append(appendOf(incarnation, slot, RECORDS));
  const pass = async (ms: number) => {
    clock.advance(ms);
    for (let turns = 0; turns < 20; turns += 1) await turnOfEvents();
  };
  return { clock, journals, scan, begin, names, append, pass };
}

const old = suite('when a journal is sealed');

old('the journal is deleted after a day, unless a shard of any service refers to it', async () => {
  const { names, pass, scan } = await journalsUnderTest();
  using _ = scan;
  await pass(24 * HOUR_MS);
  assert.equal(await names(), ['limiter', 'me', 'owner']);
});

old('the journal is kept for the first 23 hours', async () => {
  const { names, scan, clock } = await journalsUnderTest();
  using _ = scan;
  clock.advance(23 * HOUR_MS);
  await scan.scan();
  assert.ok((await names()).includes('old'));
});

const idle = suite('when an unsealed journal has no shards');

idle('the journal is sealed after an hour without growth', async () => {
  const { begin, journals, pass, scan } = await journalsUnderTest();
  using _ = scan;
  await begin('idle');
  await scan.scan();
  await pass(HOUR_MS - 1);
  assert.not((await journals.readHead('idle', 'serial'))?.isSealed);
  await pass(1);
  assert.ok((await journals.readHead('idle', 'serial'))?.isSealed);
});

idle(
  'the journal is not sealed if it grows, or if it is the journal of the scanning node',
  async () => {
    const { append, begin, journals, pass, scan } = await journalsUnderTest();
    using _ = scan;
    await begin('alive');
    await scan.scan();
    await append('alive', 0);
    await pass(HOUR_MS);
    assert.not((await journals.readHead('alive', 'serial'))?.isSealed);
    assert.not((await journals.readHead('me', 'serial'))?.isSealed);
  },
);

for (const group of [old, idle]) group.run();
