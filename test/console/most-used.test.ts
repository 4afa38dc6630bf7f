import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { mostUsed } from '#console/usage/instance-usage';

/** An instance with its total cycles, and its cycles in the month. */
type Known = { readonly id: string; readonly name: string; cycles: number; month: number };

const known = (id: number, cycles: number, month: number): Known => ({
  ...{ id: `inst_${String(id).padStart(4, '0')}`, name: `Instance ${id}` },
  ...{ cycles, month },
});

/** Accounts whose instances have few cycles, so that ties are frequent. */
const accounts = fc
  .array(fc.tuple(fc.nat(30), fc.double({ min: 0, max: 1, noNaN: true })), { maxLength: 120 })
  .map((all) => all.map(([cycles, share], id) => known(id, cycles, Math.round(cycles * share))));

/** Reference result: reads every instance. */
function naive(all: readonly Known[], count: number) {
  return all
    .map(({ id, name, month: cycles }) => ({ id, name, cycles }))
    .filter(({ cycles }) => cycles > 0)
    .sort((a, b) => b.cycles - a.cycles || (a.id < b.id ? -1 : 1))
    .slice(0, count);
}

/** A reader that answers after different delays, and records its calls and their concurrency. */
function asking(all: readonly Known[], delays: readonly number[] = []) {
  const byId = new Map(all.map((one) => [one.id, one.month]));
  const asked: string[] = [];
  const seen = { atOnce: 0, most: 0 };
  const cyclesOf = async ({ id }: { readonly id: string }) => {
    const delay = delays[asked.length % Math.max(1, delays.length)] ?? 0;
    asked.push(id);
    seen.atOnce += 1;
    seen.most = Math.max(seen.most, seen.atOnce);
    for (let turn = 0; turn < delay; turn += 1) await undefined;
    seen.atOnce -= 1;
    return byId.get(id) ?? 0;
  };
  return { asked, seen, cyclesOf };
}

const most = suite('the most used instances');

most('equal the result of reading every instance, in the same order', async () => {
  const delays = fc.array(fc.nat(6), { minLength: 1, maxLength: 16 });
  const bounds = fc.record({
    count: fc.integer({ min: 1, max: 25 }),
    atOnce: fc.integer({ min: 1, max: 8 }),
    surely: fc.nat(10),
  });
  const property = fc.asyncProperty(accounts, delays, bounds, async (all, turns, bound) => {
    const { asked, seen, cyclesOf } = asking(all, turns);
    const shuffled = all.toSorted(
      (a, b) => ((a.month * 7 + a.cycles) % 5) - ((b.month * 7 + b.cycles) % 5),
    );
    const { rows, isComplete } = await mostUsed(shuffled, cyclesOf, bound);
    const plain = rows.map(({ id, name, cycles }) => ({ id, name, cycles }));
    assert.equal([plain, isComplete], [naive(all, bound.count), true]);
    assert.ok(seen.most <= bound.atOnce, `${seen.most} concurrent reads`);
    assert.is(new Set(asked).size, asked.length, 'each instance is read once');
  });
  await fc.assert(property, { numRuns: 1_000 });
});

most('are found without reading instances that cannot be among them', async () => {
  const all = Array.from({ length: 5_000 }, (_, id) => known(id, 10_000 - id, id < 40 ? 9_000 : 1));
  const { asked, cyclesOf } = asking(all);
  const { rows } = await mostUsed(all, cyclesOf, { count: 20, atOnce: 1, surely: 0 });
  assert.is(rows.length, 20);
  // The twentieth instance has 9,000 cycles. Only instances with a larger total, or an equal total
  // and a lower id, are read.
  assert.is(asked.length, 1_000);
  const young = all.map((one) => ({ ...one, month: one.cycles }));
  const again = asking(young);
  await mostUsed(young, again.cyclesOf, { count: 20, atOnce: 1, surely: 0 });
  assert.is(again.asked.length, 20);
});

most(
  'are found among the first instances even if an old listing shows few cycles for them',
  async () => {
    const old = Array.from({ length: 50 }, (_, id) =>
      known(id, id < 30 ? 40 : 0, id < 30 ? 1 : id),
    );
    const { asked, cyclesOf } = asking(old);
    const { rows } = await mostUsed(old, cyclesOf, { count: 20, atOnce: 8, surely: 50 });
    assert.equal(
      rows.map(({ cycles }) => cycles),
      Array.from({ length: 20 }, (_, index) => 49 - index),
    );
    assert.is(asked.length, 50);
    const beyond = asking(old);
    await mostUsed(old, beyond.cyclesOf, { count: 20, atOnce: 1, surely: 35 });
    assert.is(beyond.asked.length, 35, 'instances without a cycle are not read');
  },
);

most('include the lower ids on ties', async () => {
  const all = Array.from({ length: 60 }, (_, id) => known(id, 5 + (id % 3), 5)).reverse();
  const { cyclesOf } = asking(all);
  const { rows } = await mostUsed(all, cyclesOf, { count: 20, atOnce: 8, surely: 0 });
  assert.equal(
    rows.map(({ id }) => id),
    naive(all, 20).map(({ id }) => id),
  );
});

most('are the best of the instances that were read before the time limit', async () => {
  const all = Array.from({ length: 100 }, (_, id) => known(id, 100 - id, 1));
  let left = 10;
  const { cyclesOf } = asking(all);
  const untilOver = async (one: { readonly id: string }) => {
    left -= 1;
    return left < 0 ? undefined : await cyclesOf(one);
  };
  const { rows, isComplete } = await mostUsed(all, untilOver, { count: 20, atOnce: 3, surely: 0 });
  assert.equal([rows.length, isComplete], [10, false]);
  assert.ok(left >= -3, 'no further call is made');
});

most('are not returned after a failed read, which ends the search', async () => {
  const all = Array.from({ length: 100 }, (_, id) => known(id, 100 - id, 1));
  let asked = 0;
  const failing = async () => {
    asked += 1;
    const isLost = asked === 4;
    await undefined;
    if (isLost) throw new Error('no engine');
    return 1;
  };
  const outcome = mostUsed(all, failing, { count: 20, atOnce: 4, surely: 0 });
  const message = await outcome.then(
    () => 'found',
    (error: Error) => error.message,
  );
  assert.is(message, 'no engine');
  for (let turn = 0; turn < 50; turn += 1) await undefined;
  assert.ok(asked <= 8, `${asked} asked`);
});

most.run();
