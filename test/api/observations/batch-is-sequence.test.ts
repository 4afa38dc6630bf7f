import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MODE_TARGETS } from '#identity/modes';
import { share } from '#test/support/arbitrary-identity';
import { MORNING_MS, sharedScene } from '#test/support/calls/scene';
import { assertServed, ModelReplay } from '#test/support/model-replay';

const { caller } = await sharedScene();

/** Number of sequences for each property. One sequence needs about thirty requests. */
const RUNS = { numRuns: 30 };

type Sent = {
  mode_target: string;
  signal_strength: number;
  confidence: number;
  timestamp: string;
};

/** Observations with gaps from one second to two days. */
const sequence: fc.Arbitrary<Sent[]> = fc
  .array(
    fc.record({
      mode_target: fc.constantFrom(...MODE_TARGETS),
      signal_strength: share,
      confidence: share,
      gapMs: fc.oneof(
        fc.constantFrom(1_000, 1_001, 30_000),
        fc.integer({ min: 1_000, max: 3_600_000 }),
        fc.integer({ min: 1_000, max: 2 * 86_400_000 }),
      ),
    }),
    { minLength: 1, maxLength: 25 },
  )
  .map((items) => {
    let atMs = MORNING_MS;
    return items.map(({ gapMs, ...observation }) => {
      atMs += gapMs;
      return { ...observation, timestamp: new Date(atMs).toISOString() };
    });
  });

const home = fc.record({
  mode_strengths: fc.record(
    { perception: share, order: share, assertion: share, identity: share, stress_response: share },
    { requiredKeys: [] },
  ),
  energy_level: share,
});

type State = ReturnType<typeof JSON.parse>;

const anonymous = (state: State) => ({
  ...state,
  snapshot: { ...state.snapshot, instance_id: '' },
});

async function oneByOne(id: string, observations: readonly Sent[]): Promise<State[]> {
  const states: State[] = [];
  for (const json of observations) {
    const answer = await caller.send('POST', `/instances/${id}/process`, { json });
    assert.is(answer.headers.get('x-throttled'), null);
    states.push(anonymous(answer.body.data));
  }
  return states;
}

async function atOnce(id: string, observations: readonly Sent[], include_intermediate: boolean) {
  const json = { observations, include_intermediate };
  const answer = await caller.send('POST', `/instances/${id}/process/batch`, { json });
  assert.is(answer.body.data.processed_count, observations.length, answer.text);
  return answer.body.data;
}

async function recordsOf(id: string): Promise<unknown> {
  const read = async (path: string) => (await caller.send('GET', `/instances/${id}/${path}`)).body;
  const [history, drift, contract, snapshot] = await Promise.all(
    ['history?limit=1000', 'drift', 'contract', 'snapshot'].map(read),
  );
  const { created_at: _, updated_at: __, instance_id: ___, ...state } = snapshot.data;
  return [history, drift, contract, state];
}

const batch = suite('a batch');

batch('gives exactly the same result as its observations sent one by one', async () => {
  await fc.assert(
    fc.asyncProperty(home, sequence, async (initial_config, observations) => {
      const [single, whole, last] = await Promise.all(
        [1, 2, 3].map(() => caller.createInstance({ initial_config })),
      );
      if (!single || !whole || !last) throw new Error('an instance is missing');
      const expected = await oneByOne(single, observations);
      const { states } = await atOnce(whole, observations, true);
      assert.equal(states.map(anonymous), expected);
      const { processed_count: _, ...final } = await atOnce(last, observations, false);
      assert.equal(anonymous(final), expected.at(-1));
      const records = await recordsOf(single);
      assert.equal(await recordsOf(whole), records);
      assert.equal(await recordsOf(last), records);
    }),
    RUNS,
  );
});

batch('that is split into two batches gives the same result as the whole batch', async () => {
  await fc.assert(
    fc.asyncProperty(sequence, fc.nat({ max: 24 }), async (observations, cut) => {
      const at = Math.min(cut, observations.length);
      const [whole, parts] = [await caller.createInstance(), await caller.createInstance()];
      await atOnce(whole, observations, false);
      for (const part of [observations.slice(0, at), observations.slice(at)]) {
        if (part.length > 0) await atOnce(parts, part, false);
      }
      assert.equal(await recordsOf(parts), await recordsOf(whole));
    }),
    RUNS,
  );
});

batch('gives the states that the model computes', async () => {
  await fc.assert(
    fc.asyncProperty(sequence, async (observations) => {
      // All observations lie before the creation, so no time passes before the first observation.
      const replay = new ModelReplay(Number.POSITIVE_INFINITY);
      const { states } = await atOnce(await caller.createInstance(), observations, true);
      for (const [index, observation] of observations.entries()) {
        replay.observe(observation, Date.parse(observation.timestamp));
        assertServed(states[index], replay.expected(), ['instance_id', 'description']);
      }
    }),
    RUNS,
  );
});

batch.run();
