import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf } from '#accounts/api-key';
import type { Turn } from '#actor-runtime/turn';
import { MeterKind } from '#limiter/actors';
import { memoryMeterStore } from '#storage/memory/meters';
import type { MeterRecord } from '#storage/ports/meters';
import { admission, custom, record, UNNOTICED } from '#test/limiter/limiter-fixture';
import { meterAt, reservations } from '#test/storage/contracts/meter-records';
import { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';

const UNHURRIED = { callId: 0, deadlineAtMs: Number.POSITIVE_INFINITY };

/** The actor kind of meters. Its stores record all reads and writes in `asked`. */
function kindUnderTest(isAbsent = false) {
  const clock = new ManualClock();
  const store = memoryMeterStore();
  const asked: string[] = [];
  const kind = new MeterKind({
    accounts: {
      async find(id) {
        asked.push(`account ${id}`);
        return isAbsent ? undefined : record(custom(60, 1_000), { id });
      },
    },
    meters: {
      async readHead(id) {
        asked.push(`head ${id}`);
        return await store.readHead(id);
      },
      bucketOf: store.bucketOf,
      async checkpoint(checkpoints) {
        for (const { accountId, head } of checkpoints) {
          asked.push(`checkpoint ${accountId} v${head.version}`);
        }
        await store.checkpoint(checkpoints);
      },
    },
    events: UNNOTICED,
    clock,
  });
  const dependencies: number[] = [];
  const turn = (): Turn<MeterRecord> => ({
    wallMs: clock.wallMs(),
    monotonicMs: clock.monotonicMs(),
    version: 0,
    earlierVersion: undefined,
    offset: 7,
    commit: () => undefined,
    dependOn: (offset) => dependencies.push(offset),
    beforeAnswer: () => assert.unreachable('a meter has no side effects'),
  });
  return { clock, store, asked, kind, dependencies, turn };
}

const activation = suite('an activated meter');

activation('continues from its head and version', async () => {
  const { kind, store } = kindUnderTest();
  await store.checkpoint([{ accountId: 'a', head: meterAt(5) }]);
  const { state, version, recentCalls } = await kind.activate('a');
  assert.equal([version, recentCalls, state.head], [5, [], meterAt(5)]);
  assert.equal([kind.name, kind.isAbsent(state)], ['meter', false]);
  assert.is((await kind.activate('b')).version, 0);
});

activation('reads nothing else if the account does not exist', async () => {
  const { kind, asked } = kindUnderTest(true);
  const { state } = await kind.activate('a');
  assert.equal([asked, kind.isAbsent(state)], [['account a'], true]);
});

const stored = suite('the stored state of a meter');

stored('is its newest record, or nothing without a record', async () => {
  const { kind, asked } = kindUnderTest();
  const { state } = await kind.activate('a');
  asked.length = 0;
  await kind.store([kind.checkpoint('a', state).copy]);
  assert.equal([asked, kind.sizeOfUnstored(state)], [[], 0]);
  kind.apply(state, meterAt(3), 3);
  assert.is(kind.sizeOfUnstored(state), 200);
  const { copy, forget } = kind.checkpoint('a', state);
  await kind.store([copy]);
  assert.equal(asked, ['checkpoint a v3']);
  assert.is(state.head?.version, 3);
  forget();
  assert.is(state.head?.version, 3, 'before the first turn, the meter has no other data');
  state.usage(kindUnderTest().turn());
  forget();
  assert.is(state.head, undefined);
});

stored('is restored exactly from the journal, and its size includes reservations', () => {
  const { kind } = kindUnderTest();
  const { version: _, ...made } = meterAt(3, { reservations: reservations(3) });
  assert.equal(kind.read(kind.recordOf(made)), made);
  assert.is(kind.sizeOfRecord(made), 500);
});

stored(
  'ends with a closing record that has the end times of the window and the reservations',
  async () => {
    const { kind, clock, turn } = kindUnderTest();
    const { state } = await kind.activate('a');
    const call = admission(1, 5, digestOf('key'), 'full', 'a');
    await kind.receive(state, { kind: 'limit', ...UNHURRIED, call }, turn());
    clock.advance(20_000);
    const moment = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
    const closing = kind.closing(state, moment);
    assert.is(closing?.windowEndsAtMs, clock.wallMs() + 40_000);
    assert.is(closing?.reservations[0]?.expiresAtMs, clock.wallMs() + 40_000);
  },
);

const asking = suite('a query for usage');

asking('is answered immediately, without a durability dependency', async () => {
  const { kind, turn, dependencies } = kindUnderTest();
  const { state } = await kind.activate('a');
  const answer = kind.receive(state, { kind: 'usage', ...UNHURRIED }, turn());
  assert.not.instance(answer, Promise);
  assert.is((await answer).verdict, 'usage');
  assert.equal(dependencies, [0]);
});

const ages = suite('the ages at which accounts are read in the background');

ages('are spread from 15 s to 25 s by the last character of the account id', async () => {
  const readAfterMs = async (id: string) => {
    const { kind, clock, turn, asked } = kindUnderTest();
    const { state } = await kind.activate(id);
    const before = asked.length;
    clock.advance(14_999);
    while (asked.length === before) {
      clock.advance(1);
      await kind.receive(state, { kind: 'usage', ...UNHURRIED }, turn());
    }
    await turnOfEvents();
    return clock.monotonicMs();
  };
  const found = await Promise.all(['@', 'A', 'Q', '_'].map(readAfterMs));
  assert.equal(found, [15_001, 15_313, 20_313, 24_688]);
});

for (const each of [activation, stored, asking, ages]) each.run();
