import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { levelIn, modeIn, stressIn } from '#identity/transitions';
import {
  arbitraryFilter,
  arbitrarySteps,
  IndexWorld,
  type Step,
} from '#test/engine/directory/fleet-world';

const NUM_RUNS = 400;

/** Checks a property of worlds in which everything has arrived. */
function arrivedWorlds(check: (world: IndexWorld) => void): void {
  fc.assert(
    fc.property(arbitrarySteps(), (steps) => {
      const world = worldAfter(steps);
      world.arriveAll();
      check(world);
    }),
    { numRuns: NUM_RUNS },
  );
}

function worldAfter(steps: readonly Step[]): IndexWorld {
  const world = new IndexWorld();
  for (const step of steps) world.step(step);
  return world;
}

function liveIn(world: IndexWorld) {
  return [...world.truths].filter(([, { isDeleted }]) => !isDeleted).sort();
}

const arrived = suite('when all messages, reads and rows of the feed have arrived');

// J1, J2. Catches a missing version guard, a change between a read and its answer that is lost, and
// a row that arrives behind the walk of the build.
arrived('the index has the newest values of every instance', () => {
  arrivedWorlds((world) => {
    const { valuesOf } = world.index.matches(undefined);
    for (const [id, { flags, changedAtMs }] of liveIn(world)) {
      const row = world.listing.rowOf(id);
      assert.equal(row && valuesOf(row), { flags, changedAtMs }, id);
    }
  });
});

// J3. Catches a counter that a replaced or removed value does not leave.
arrived('the counters equal a count of all instances', () => {
  arrivedWorlds((world) => {
    const live = liveIn(world).map(([, truth]) => truth);
    const { stress, drift, modes, unknown } = world.index.facets(world.listing.total);
    const count = (length: number, of: (flags: number) => number) =>
      Array.from({ length }, (_, at) => live.filter(({ flags }) => of(flags) === at).length);
    assert.equal([stress, drift, modes], [count(4, stressIn), count(4, levelIn), count(8, modeIn)]);
    assert.is(unknown, 0);
    const counts = new Map<string, number>();
    for (const { tagsJson } of live) {
      for (const tag of Object.entries(JSON.parse(tagsJson))) {
        counts.set(tag.join('='), (counts.get(tag.join('=')) ?? 0) + 1);
      }
    }
    const { tags, different } = world.index.tagCounts(10);
    const shown = tags.map(({ key, value, count: one }) => [`${key}=${value}`, one] as const);
    assert.equal(new Map(shown.sort()), new Map([...counts].sort()));
    assert.is(different, counts.size);
  });
});

// J4, J5. Catches a removed instance that comes back, a slot that a new instance shares with a
// removed one, a page that ends early, and a cursor that repeats or skips a row.
arrived('the pages of a filter have each match once, and the total', () => {
  const orders = fc.record({
    sort: fc.constantFrom('created_at' as const, 'name' as const, 'changed_at' as const),
    order: fc.constantFrom('asc' as const, 'desc' as const),
  });
  fc.assert(
    fc.property(arbitrarySteps(), arbitraryFilter(), orders, (steps, filter, order) => {
      const world = worldAfter(steps);
      world.arriveAll();
      const { ids, totals } = world.walk({ ...order, filter });
      const passing = world.passing(filter);
      assert.equal([...ids].sort(), passing);
      assert.equal(totals, [passing.length]);
      if (order.sort !== 'changed_at') return;
      const times = ids.map((id) => world.truths.get(id)?.changedAtMs ?? 0);
      const sign = order.order === 'asc' ? 1 : -1;
      assert.equal(
        times,
        [...times].sort((a, b) => sign * (a - b)),
      );
    }),
    { numRuns: NUM_RUNS },
  );
});

// Catches a late change that is taken for damage, and a repair that brings back an older value.
arrived('a scrub has found no damage, and finds no difference', () => {
  arrivedWorlds((world) => {
    assert.not.ok(
      world.repairs.some((reason) => reason !== 'missed'),
      world.repairs.join(),
    );
    const { length } = world.repairs;
    for (let step = 0; step < 12; step += 1) world.scrub();
    assert.is(world.repairs.length, length);
  });
});

const underWay = suite('while messages and rows of the feed are under way');

// J3 at all times. Catches an instance that is counted by its row and not by the index.
underWay('the counters and the unknown instances add up to the total', () => {
  fc.assert(
    fc.property(arbitrarySteps(), (steps) => {
      const world = new IndexWorld();
      for (const step of steps) {
        world.step(step);
        const { index, total } = world.listing;
        const { stress, drift, modes, unknown } = index?.facets(total) ?? emptyFacets(total);
        for (const counts of [stress, drift, modes]) {
          assert.is(
            counts.reduce((sum, one) => sum + one, unknown),
            total,
          );
        }
        assert.ok(unknown >= 0 && unknown <= total);
      }
    }),
    { numRuns: NUM_RUNS },
  );
});

function emptyFacets(unknown: number) {
  return { stress: [0], drift: [0], modes: [0], unknown };
}

// Catches a search that reads the flags of a later time, or of the instance that got a freed slot.
underWay('a search that has begun does not see later changes', () => {
  const world = new IndexWorld();
  for (const instance of [0, 1, 2]) world.step([0, instance, 5]);
  world.arriveAll();
  const matches = world.index.matches({ stress: 1 << stressIn(5), tags: [] });
  const rows = world.listing.rowsAfter('', 9);
  const slots = rows.map((row) => ({ ...row }));
  assert.is(matches.total, 3);
  matches.keep();
  world.index.matches({ stress: 1 << stressIn(6), tags: [] });
  for (const instance of [0, 1, 2]) world.step([0, instance, 6]);
  world.arriveAll();
  assert.is(world.listing.total, 0);
  for (const instance of [3, 4, 5]) world.step([0, instance, 6]);
  world.arriveAll();
  assert.ok(slots.every((row) => matches.has(row) && matches.valuesOf(row).flags === 5));
});

for (const group of [arrived, underWay]) group.run();
