import type { suite as plainSuite, Test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Floor, NO_ROWS_TRIMMED, packedState } from '#storage/ports/instances';
import { type StateRow, statePages } from '#storage/ports/states';
import type { Open } from '#test/storage/contracts/instance-rows';
import { checkpointAt, headAt, markerAt, storeOne } from '#test/storage/contracts/rows';

/** A state at a position. Its energy identifies the position. */
function stateRow(generation: number, cycle: number): StateRow {
  return {
    ...{ generation, cycle, ordinal: 1_000 * (generation - 1) + cycle },
    cause: cycle === 0 ? 'default' : 'spaced',
    originMs: 1_768_478_400_123.5,
    observedAtMs: cycle === 0 ? undefined : 1_768_478_400_123 + cycle,
    modelVersion: '1.0',
    state: packedState(headAt(generation * 1_000 + cycle).model),
  };
}

const at = (generation: number, cycle: number) => ({ generation, cycle });

/** Three generations: states at 0, 256 and 512 of each. */
const STATES = [1, 2, 3].flatMap((generation) =>
  [0, 256, 512].map((cycle) => stateRow(generation, cycle)),
);

const LAST = at(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
const EVERYTHING = { from: at(1, 0), to: LAST, limit: 100, isNewestFirst: false };

/** Contract tests of the InstanceStore port for past states. */
export function statesOf(name: string, open: Open, suite: typeof plainSuite): Test {
  const states = suite(`past states in ${name}`);

  states('come back with every field, the model state bit for bit', async () => {
    const store = await open();
    await storeOne(store, 'inst_a', checkpointAt(5, { states: STATES }));
    assert.equal(await store.readStates('inst_a', EVERYTHING), STATES);
    assert.equal(await store.readStates('inst_b', EVERYTHING), []);
  });

  states('are read in a range across generations, in both directions', async () => {
    const store = await open();
    await storeOne(store, 'inst_a', checkpointAt(5, { states: STATES }));
    const range = { from: at(1, 257), to: at(3, 0), limit: 9 };
    const up = await store.readStates('inst_a', { ...range, isNewestFirst: false });
    assert.equal(up, STATES.slice(2, 7));
    const down = await store.readStates('inst_a', { ...range, isNewestFirst: true });
    assert.equal(down, STATES.slice(2, 7).reverse());
    const newest = { from: at(2, 0), to: at(2, 511), limit: 1, isNewestFirst: true };
    assert.equal(await store.readStates('inst_a', newest), [stateRow(2, 256)]);
  });

  states('are found at single cycles of one generation', async () => {
    const store = await open();
    await storeOne(store, 'inst_a', checkpointAt(5, { states: STATES }));
    const found = await store.findStates('inst_a', 2, [512, 7, 0]);
    assert.equal(
      found.sort((one, other) => one.cycle - other.cycle),
      [stateRow(2, 0), stateRow(2, 512)],
    );
    assert.equal(await store.findStates('inst_a', 2, []), []);
  });

  states('are read in pages by tools', async () => {
    const store = await open();
    const many = Array.from({ length: 600 }, (_, n) => stateRow(1 + (n % 2), Math.floor(n / 2)));
    await storeOne(store, 'inst_a', checkpointAt(5, { states: many }));
    const seen: string[] = [];
    for await (const page of statePages(store, 'inst_a')) {
      seen.push(...page.map(({ generation, cycle }) => `${generation}/${cycle}`));
    }
    const all = [1, 2].flatMap((g) => Array.from({ length: 300 }, (_, cycle) => `${g}/${cycle}`));
    assert.equal(seen, all);
  });

  deletingStates(states, open);
  return states;
}

function deletingStates(states: Test, open: Open): void {
  states(
    'before the floor are deleted by a trim, also if the trim is repeated or late',
    async () => {
      const store = await open();
      const stored = checkpointAt(5, { states: STATES });
      const state = packedState(headAt(7).model);
      const floor: Floor = { history: 1_256, drift: 0, ...at(2, 256), timestampMs: 7, state };
      const trimmed = checkpointAt(6, {
        head: headAt(6, { floor }),
        trimmedFrom: NO_ROWS_TRIMMED,
        states: [stateRow(1, 300), stateRow(3, 900)],
      });
      for (const checkpoint of [stored, trimmed, stored, trimmed]) {
        await storeOne(store, 'inst_a', checkpoint);
      }
      const left = [...STATES.slice(4), stateRow(3, 900)];
      assert.equal(await store.readStates('inst_a', EVERYTHING), left);
    },
  );

  states('are deleted with their instance, and a late checkpoint leaves none', async () => {
    const store = await open();
    const stored = checkpointAt(5, { states: STATES });
    await storeOne(store, 'inst_a', stored);
    await storeOne(store, 'inst_b', stored);
    await storeOne(store, 'inst_a', checkpointAt(6, { head: markerAt(6) }));
    await storeOne(store, 'inst_a', stored);
    assert.equal(await store.readStates('inst_a', EVERYTHING), []);
    assert.equal(await store.readStates('inst_b', EVERYTHING), STATES);
  });
}
