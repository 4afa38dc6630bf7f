import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Activation } from '#actor-runtime/activation';
import { CorruptJournal, encodeRecord } from '#actor-runtime/record-codec';
import { replay } from '#actor-runtime/replay';
import type { JournalRecord } from '#storage/ports/journal';
import { linesOf, recordOf, recordsOf } from '#test/actor-runtime/commit-log/journal-records';
import { type Tally, type TallyAnswer, type TallyCall, TallyKind } from '#test/support/tally-actor';

const NOW = { monotonicMs: 1_000, wallMs: 1_000 };

/** An actor whose head has `version`. `run` replays these records. */
function recovered(version: number, records: readonly JournalRecord[], kind = new TallyKind()) {
  const activation = new Activation<Tally, TallyCall, TallyAnswer>('a', 0, 0);
  const state: Tally = { sum: 100, unstored: [] };
  activation.state = state;
  activation.version = version;
  const noted: unknown[] = [];
  const effects: unknown[] = [];
  const book = {
    recovered: (_: unknown, count: number, offset: number, effect: unknown) => {
      noted.push([count, offset]);
      effects.push(effect);
    },
  };
  const lines = records.map(encodeRecord);
  const run = () => replay(kind, activation, state, { lines, offset: 41 }, NOW, book);
  return { activation, state, noted, effects, run };
}

const tail = suite('a recovered tail');

tail('is replayed in version order on top of the head', () => {
  const { run, activation, state, noted } = recovered(4, recordsOf('a', [6, 5, 7]));
  run();
  assert.equal([state.sum, activation.version, activation.offset], [103, 7, 41]);
  assert.equal(noted, [[3, 41]]);
});

tail('is skipped for versions that the head contains, and for repeated versions', () => {
  const { run, activation, state, noted } = recovered(4, recordsOf('a', [3, 4, 5, 5, 6]));
  run();
  assert.equal([state.sum, activation.version], [102, 6]);
  assert.equal(noted, [[2, 41]]);
});

tail('leaves the actor clean if the head contains it completely', () => {
  const { run, activation, noted } = recovered(9, recordsOf('a', [3, 4]));
  run();
  assert.equal([noted, activation.offset, activation.version], [[], 0, 9]);
});

tail('lets the actor recognise retries of its calls', () => {
  const { run, activation } = recovered(4, [recordOf({ version: 5, callId: 77, atMs: 500 })]);
  run();
  assert.is(activation.versionOfCall(77, NOW.monotonicMs), 5);
});

const gap = suite('a corrupt tail');

for (const [circumstance, versions] of [
  ['right above the head', [6]],
  ['in the middle', [5, 7]],
] as const) {
  gap(`is reported if a version ${circumstance} is missing`, () => {
    const { run, noted } = recovered(4, recordsOf('a', versions));
    assert.throws(run, (error: unknown) => error instanceof CorruptJournal);
    assert.equal(noted, []);
  });
}

gap('is reported if a line is not a record, and no record is replayed', () => {
  const { state, activation } = recovered(4, []);
  const lines = [...linesOf('a', [5]), '["instance","a",6,1,0'];
  const book = { recovered: () => assert.unreachable() };
  const broken = { lines, offset: 41 };
  assert.throws(
    () => replay(new TallyKind(), activation, state, broken, NOW, book),
    (error: unknown) => error instanceof CorruptJournal,
  );
  assert.equal([state.sum, activation.version], [100, 4]);
});

const pending = suite('the side effect of events in a recovered tail');

pending('is pending again after the replay, for the replayed events only', async () => {
  const kind = new TallyKind();
  const asked: unknown[] = [];
  const effect = async () => undefined;
  const owing = Object.assign(kind, {
    effectAfterReplay: (id: string, { sum }: Tally, events: readonly number[]) => {
      asked.push([id, sum, events]);
      return effect;
    },
  });
  const records = recordsOf('a', [4, 5, 6]).map((record) => ({
    ...record,
    event: record.version,
  }));
  const { run, effects } = recovered(4, records, owing);
  run();
  assert.equal(asked, [['a', 111, [5, 6]]]);
  assert.equal(effects, [effect]);
});

for (const suite of [tail, gap, pending]) suite.run();
