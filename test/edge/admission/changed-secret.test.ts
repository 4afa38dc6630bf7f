import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { EngineCalls, type EngineQuestion } from '#edge/serve/engine-calls';
import { composeEngine } from '#engine/engine-node';
import type { EngineCall } from '#grpc/engine-messages';
import { unchanging } from '#stdlib/files';
import { systemRandomness } from '#stdlib/randomness';
import { memoryFeedStore } from '#storage/memory/feeds';
import { memoryInstanceStore, memoryListingStore } from '#storage/memory/instances';
import { memoryJournal } from '#storage/memory/meters';
import { createMetrics } from '#telemetry/metrics';
import { ACCOUNT_ID, CREATE, INSTANCE_ID, START_MS } from '#test/engine/instance/instance-fixture';
import { ManualClock } from '#test/support/manual-clock';
import { refusalOf } from '#test/support/settled';

const [OLD, NEW] = ['the old secret of a test', 'the new secret of a test'];

const DAY_MS = 24 * 3_600_000;

/** One engine, and a new edge for each call, with secrets that the test chooses. */
async function newScene() {
  const clock = new ManualClock(START_MS);
  const onBug = (error: unknown) => assert.unreachable(String(error));
  const config = { idleAgeMs: 2 * DAY_MS, memoryBytesMax: 64 * 1_024 * 1_024 };
  const stores = {
    instances: memoryInstanceStore(),
    listings: memoryListingStore(),
    feeds: memoryFeedStore(),
  };
  const ports = { clock, metrics: createMetrics(), onBug, ...stores, journal: memoryJournal() };
  const engine = await composeEngine(config, ports);
  const caller = { accountId: ACCOUNT_ID, credential: '' };
  let callId = 0;
  const ask = async (secrets: readonly string[], question: Partial<EngineQuestion>) => {
    callId += 1;
    const calls = new EngineCalls(engine, clock, systemRandomness, unchanging(secrets));
    const common = { instanceId: '', callId, ifMatch: undefined, isReplayOnly: false };
    const whole = { ...common, idempotency: undefined, command: CREATE, ...question };
    return await calls.ask(caller, whole);
  };
  const create = (secrets: readonly string[], key = 'a key') =>
    ask(secrets, { idempotency: { key, fingerprint: 'same' } });
  return { clock, ask, create };
}

const changed = suite('a keyed create that is retried during a rotation of the cluster secret');

for (const [name, before, after] of [
  ['after a second secret was added', [OLD], [OLD, NEW]],
  ['before this edge has the second secret', [OLD, NEW], [OLD]],
  ['after the new secret became the first', [OLD, NEW], [NEW, OLD]],
  ['if this edge still has the old secret first', [NEW, OLD], [OLD, NEW]],
  ['after the old secret was removed', [NEW, OLD], [NEW]],
] as const) {
  changed(`finds its instance ${name}`, async () => {
    const { create } = await newScene();
    const first = await create(before);
    const again = await create(after);
    assert.is(again.location, first.location);
    assert.equal([again.isReplayed, again.body], [true, first.body]);
  });
}

changed('is refused if its instance was deleted', async () => {
  const { ask, create } = await newScene();
  const { location = '' } = await create([OLD]);
  const instanceId = location.slice('/instances/'.length);
  await ask([OLD], { instanceId, command: { kind: 'remove' } });
  const refusal = await refusalOf(() => create([NEW, OLD]));
  assert.is((refusal as { reason?: string }).reason, 'deleted');
});

changed('creates another instance a day later, as with any key', async () => {
  const { clock, create } = await newScene();
  const first = await create([OLD]);
  clock.advance(DAY_MS + 1);
  const second = await create([NEW, OLD]);
  assert.is.not(second.location, first.location);
  assert.is((await create([OLD, NEW])).location, second.location);
});

const asked = suite('a call to an engine during a rotation of the cluster secret');

for (const [secrets, isUnsure] of [
  [[OLD], undefined],
  [[OLD, NEW], true],
  [[NEW, OLD], true],
] as const) {
  asked(
    `with ${secrets.length} secrets ${isUnsure ? 'marks' : 'does not mark'} the call name as uncertain`,
    async () => {
      const calls: EngineCall[] = [];
      const engine = {
        ask(call: EngineCall) {
          calls.push(call);
          return { body: '', etag: '', cycles: 0, throttledRetryAfterS: 0, isReplayed: false };
        },
      };
      const edge = new EngineCalls(
        engine,
        new ManualClock(),
        systemRandomness,
        unchanging(secrets),
      );
      const common = {
        callId: 1,
        ifMatch: undefined,
        isReplayOnly: false,
        instanceId: INSTANCE_ID,
      };
      const command = { kind: 'reset', mode: 'initial' } as const;
      const idempotency = { key: 'k', fingerprint: 'f' };
      const caller = { accountId: ACCOUNT_ID, credential: '' };
      await edge.ask(caller, { ...common, command, idempotency });
      await edge.ask(caller, { ...common, command, idempotency: undefined });
      const sent = calls.map((call) => call.idempotency);
      const keyed =
        isUnsure === undefined ? idempotency : { ...idempotency, isNameUnsure: isUnsure };
      assert.equal(sent, [keyed, undefined]);
    },
  );
}

for (const each of [changed, asked]) each.run();
