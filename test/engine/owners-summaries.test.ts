import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { summariesAnswer, summariesOfOwners } from '#engine/directory/owners';
import type { SummarizedHead } from '#engine/directory/summary';
import { Fault } from '#errors/fault';
import type { EngineAnswer, EngineCall } from '#grpc/engine-messages';
import { MODELS } from '#identity/model';
import { createState, ENERGY_DEFAULT, MODEL_VERSION, OFFSET } from '#identity/state';
import { flagNames } from '#identity/transitions';
import { ManualClock } from '#test/support/manual-clock';
import { refusalOf, turnOfEvents } from '#test/support/settled';

/** A head after `cycle` cycles. */
function headAt(cycle: number, energy = ENERGY_DEFAULT): SummarizedHead {
  const model = createState({ modeStrengths: Array<number>(7).fill(0.5), energyLevel: energy });
  model[OFFSET.cycle] = cycle;
  const times = { createdAtMs: 5, deletedAtMs: undefined };
  return { modelVersion: MODEL_VERSION, model, description: 'as described', ...times };
}

const MARKER: SummarizedHead = {
  modelVersion: MODEL_VERSION,
  model: new Float64Array(0),
  description: '',
  createdAtMs: 5,
  deletedAtMs: 6,
};

type Engine = (call: EngineCall) => EngineAnswer | Promise<EngineAnswer>;

/**
 * Builds `summariesOf` from engines (by address), owner addresses (by instance) and a store. All
 * stored heads have cycle 1: a summary with cycle 1 comes from the store.
 */
function ownersUnderTest(engines: Record<string, Engine>, owned: Record<string, string>) {
  const clock = new ManualClock();
  const asked: { address: string; call: EngineCall }[] = [];
  const stored: string[] = [];
  const summariesOf = summariesOfOwners({
    clock,
    models: MODELS,
    owners: {
      addressOf: (id) => owned[id],
      async askAt(address, call) {
        asked.push({ address, call });
        const engine = engines[address];
        if (engine === undefined) throw new Fault('service_unavailable', 'unknown address');
        return engine(call);
      },
    },
    async storedHeadOf(id) {
      stored.push(id);
      return id.startsWith('deleted') ? undefined : headAt(1);
    },
  });
  const cyclesOf = async (...ids: string[]) => {
    const summaries = await summariesOf('acct_1', ids);
    return Object.fromEntries([...summaries].map(([id, { cycle }]) => [id, cycle]));
  };
  return { clock, asked, stored, summariesOf, cyclesOf };
}

/**
 * An owner whose instances all have cycle `cycle`. The answer has the form of a decoded message.
 */
function ownerAt(cycle: number): Engine {
  return async ({ command }) => {
    const ids = command.kind === 'readSummaries' ? command.instanceIds : [];
    const answer = await summariesAnswer(ids, async () => headAt(cycle), MODELS);
    return { ...answer, body: Buffer.from(answer.body) };
  };
}

const asking = suite('when a page needs the state of its instances');

asking('each owner gets one call for all its instances', async () => {
  const owned = { i1: 'a', i2: 'b', i3: 'a' };
  const { asked, stored, cyclesOf } = ownersUnderTest({ a: ownerAt(5), b: ownerAt(9) }, owned);
  assert.equal(await cyclesOf('i1', 'i2', 'i3'), { i1: 5, i3: 5, i2: 9 });
  assert.equal(stored, []);
  assert.equal(
    asked.map(({ address, call }) => [address, call.command, call.accountId, call.callId]),
    [
      ['a', { kind: 'readSummaries', instanceIds: ['i1', 'i3'] }, 'acct_1', 0],
      ['b', { kind: 'readSummaries', instanceIds: ['i2'] }, 'acct_1', 0],
    ],
  );
});

asking('numbers arrive unrounded', async () => {
  const energy = 0.1 + 0.2;
  const engine = () => summariesAnswer(['i1'], async () => headAt(3, energy), MODELS);
  const { summariesOf } = ownersUnderTest({ a: engine }, { i1: 'a' });
  const [summary] = (await summariesOf('acct_1', ['i1'])).values();
  assert.equal([summary?.cycle, summary?.energy], [3, energy]);
});

asking('tags arrive unchanged, from owners and from the store', async () => {
  const tagsJson = JSON.stringify({ team: '"\u0001"', é: '' });
  const tagged = async () => ({ ...headAt(3), tagsJson });
  const summariesOf = summariesOfOwners({
    clock: new ManualClock(),
    models: MODELS,
    owners: {
      addressOf: (id) => (id === 'stored' ? undefined : 'a'),
      askAt: () => summariesAnswer(['owned'], tagged, MODELS),
    },
    storedHeadOf: tagged,
  });
  const summaries = await summariesOf('acct_1', ['owned', 'stored']);
  assert.equal(
    [...summaries].map(([id, summary]) => [id, JSON.stringify(summary.tags)]).toSorted(),
    [
      ['owned', tagsJson],
      ['stored', tagsJson],
    ],
  );
});

asking('calls belong to the trace of the page', async () => {
  const { asked, summariesOf } = ownersUnderTest({ a: ownerAt(2) }, { i1: 'a' });
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  await summariesOf('acct_1', ['i1'], traceparent);
  await summariesOf('acct_1', ['i1']);
  assert.equal(
    asked.map(({ call }) => call.traceparent),
    [traceparent, undefined],
  );
});

asking('no call has more instances than an engine accepts', async () => {
  const ids = Array.from({ length: 250 }, (_, n) => `i${n}`);
  const owned = Object.fromEntries(ids.map((id) => [id, 'a']));
  const { asked, summariesOf } = ownersUnderTest({ a: ownerAt(2) }, owned);
  assert.is((await summariesOf('acct_1', ids)).size, 250);
  const counts = asked.map(({ call }) =>
    call.command.kind === 'readSummaries' ? call.command.instanceIds.length : 0,
  );
  assert.equal(counts, [100, 100, 50]);
});

asking('an account without instances causes no calls', async () => {
  const { asked, summariesOf } = ownersUnderTest({}, {});
  assert.is((await summariesOf('acct_1', [])).size, 0);
  assert.equal(asked, []);
});

const silent = suite('when an owner does not answer');

silent('after 300 ms, only the instances of this owner are read from the store', async () => {
  const never = () => new Promise<EngineAnswer>(() => undefined);
  const owned = { i1: 'a', i2: 'b' };
  const { clock, asked, stored, cyclesOf } = ownersUnderTest({ a: never, b: ownerAt(9) }, owned);
  const page = cyclesOf('i1', 'i2');
  await turnOfEvents();
  assert.is(asked[0]?.call.deadlineAtMs, clock.wallMs() + 300);
  clock.advance(299);
  await turnOfEvents();
  assert.equal(stored, []);
  clock.advance(1);
  assert.equal(await page, { i1: 1, i2: 9 });
  assert.equal(stored, ['i1']);
});

silent(
  'the store is read immediately if the owner is unknown, unreachable or sends an invalid answer',
  async () => {
    const answering = (body: string) => () =>
      ({ body, etag: '', cycles: 0, throttledRetryAfterS: 0, isReplayed: false }) as const;
    const engines = {
      refusing: () => {
        throw new Fault('service_unavailable', 'not mine', { reason: 'not_owner' });
      },
      garbled: answering('no json'),
      other: answering('{"a":1}'),
      wrong: answering('[["i5","4",1]]'),
      hollow: answering('[null]'),
      tagged: answering('[["i7",4,1,"","team"]]'),
    };
    const owned = {
      i1: 'nowhere',
      i2: 'refusing',
      i3: 'garbled',
      i4: 'other',
      i5: 'wrong',
      i6: 'hollow',
      i7: 'tagged',
    };
    const { cyclesOf } = ownersUnderTest(engines, owned);
    const expected = { i0: 1, i1: 1, i2: 1, i3: 1, i4: 1, i5: 1, i6: 1, i7: 1 };
    const ids = Object.keys(expected);
    const found = await cyclesOf(...ids);
    assert.equal(Object.entries(found).toSorted(), Object.entries(expected));
  },
);

silent('the page is refused if the store does not answer either', async () => {
  const refusal = new Fault('service_unavailable', 'the store is unreachable');
  const summariesOf = summariesOfOwners({
    clock: new ManualClock(),
    models: MODELS,
    owners: { addressOf: () => undefined, askAt: () => Promise.reject(refusal) },
    storedHeadOf: () => Promise.reject(refusal),
  });
  assert.is(await refusalOf(() => summariesOf('acct_1', ['i1'])), refusal);
});

const owner = suite('when an owner is asked for the state of its instances');

owner('deleted and unknown instances are omitted', async () => {
  const heads: Record<string, SummarizedHead | undefined> = { i1: headAt(4), deleted: MARKER };
  const { body, etag, cycles } = await summariesAnswer(
    ['i1', 'deleted', 'never'],
    async (id) => heads[id],
    MODELS,
  );
  const [row, ...others] = JSON.parse(String(body));
  assert.equal([row.slice(0, 5), others], [['i1', 4, ENERGY_DEFAULT, 'as described', {}], []]);
  const [flags, changedAtMs] = row.slice(5);
  assert.equal([flagNames(flags).stress_state, changedAtMs], ['LOW', 5]);
  assert.equal([etag, cycles], ['', 0]);
});

owner(
  'a store failure is returned to the caller, which can then read the store itself',
  async () => {
    const refusal = new Fault('service_unavailable', 'the store is unreachable');
    const asked = () => summariesAnswer(['i1'], () => Promise.reject(refusal), MODELS);
    assert.is(await refusalOf(asked), refusal);
  },
);

for (const group of [asking, silent, owner]) group.run();
