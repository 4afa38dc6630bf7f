import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SortedBlocks } from '#engine/directory/sorted-blocks';

/** Number of entries in the large sequence. */
const MANY = 200_000;

const ascending = (a: number, b: number) => a - b;

const beside = suite('compared with a plain sorted array');

beside('every page is equal after any inserts and removals', () => {
  const change = fc.record({ isInsert: fc.boolean(), entry: fc.integer({ min: 0, max: 60 }) });
  const fill = fc.uniqueArray(fc.integer({ min: 0, max: 60 }));
  fc.assert(
    fc.property(fill, fc.array(change, { maxLength: 80 }), (filled, changes) => {
      const blocks = new SortedBlocks<number>(ascending);
      for (const entry of filled) blocks.insert(entry);
      const plain = new Set(filled);
      for (const { isInsert, entry } of changes) {
        if (!isInsert) blocks.remove(entry);
        else if (!plain.has(entry)) blocks.insert(entry);
        if (isInsert) plain.add(entry);
        else plain.delete(entry);
      }
      assertSame(blocks, plain);
    }),
    { numRuns: 300 },
  );
});

beside('every page is equal across many blocks', () => {
  const blocks = new SortedBlocks<number>(ascending);
  const plain = new Set<number>();
  for (const entry of scattered(5_000)) {
    blocks.insert(entry);
    plain.add(entry);
  }
  assertSame(blocks, plain);
  for (const entry of scattered(5_000).filter((one) => one % 3 !== 0)) {
    blocks.remove(entry);
    plain.delete(entry);
  }
  assertSame(blocks, plain);
  for (const entry of [...plain]) blocks.remove(entry);
  assert.equal(blocks.slice(0, 10), []);
  blocks.insert(7);
  assert.equal(blocks.slice(0, 10), [7]);
});

beside('removing a missing entry changes nothing', () => {
  const blocks = new SortedBlocks<number>(ascending);
  blocks.remove(1);
  for (const entry of [1, 3]) blocks.insert(entry);
  for (const entry of [0, 2, 4]) blocks.remove(entry);
  assert.equal(blocks.slice(0, 10), [1, 3]);
});

// Catches a part of the load that is left out or in another place.
beside('a load gives the same pages as inserts, and takes more of them', () => {
  for (const entries of [[], [3], scattered(50_000), rising(50_000), rising(5_000).reverse()]) {
    const blocks = new SortedBlocks<number>(ascending);
    for (const _ of blocks.fill(entries));
    const plain = new Set(entries);
    assertSame(blocks, plain);
    for (const entry of [-1, 0.5, 2_000.5]) {
      blocks.insert(entry);
      plain.add(entry);
    }
    blocks.remove(3);
    plain.delete(3);
    assertSame(blocks, plain);
  }
});

// Catches a page of a walk that sees later changes, or begins behind its place.
beside('blocks from an entry on do not see later changes', () => {
  const blocks = new SortedBlocks<number>(ascending);
  for (const _ of blocks.fill(scattered(5_000)));
  const rest = { asc: blocks.blocks('asc', 2_500), desc: blocks.blocks('desc', 2_500) };
  for (const entry of [2_600, 2_400]) blocks.remove(entry);
  blocks.insert(2_600.5);
  const [ascended, descended] = [[...rest.asc].flat(), [...rest.desc].flat()];
  assert.equal(
    ascended.filter((entry) => entry >= 2_500),
    rising(5_000).slice(2_500),
  );
  assert.equal(
    descended.filter((entry) => entry <= 2_500),
    rising(2_501).reverse(),
  );
  assert.ok(ascended.length < 3_500 && descended.length < 3_500);
});

const large = suite('with 200,000 entries');

// The test counts comparisons, because their number does not depend on the load of the machine.
large('an insert needs few comparisons, in any insertion order', () => {
  for (const entries of [scattered(MANY), rising(MANY), rising(MANY).reverse()]) {
    let comparisons = 0;
    const blocks = new SortedBlocks<number>((a, b) => {
      comparisons += 1;
      return a - b;
    });
    for (const entry of entries) blocks.insert(entry);
    assert.ok(comparisons < MANY * 2 * Math.log2(MANY), `${comparisons} comparisons`);
    assert.equal(blocks.slice(MANY / 2, 3), [MANY / 2, MANY / 2 + 1, MANY / 2 + 2]);
    assert.equal(blocks.slice(MANY - 1, 5), [MANY - 1]);
  }
});

function assertSame(blocks: SortedBlocks<number>, plain: ReadonlySet<number>): void {
  const sorted = [...plain].sort(ascending);
  assert.equal(blocks.slice(0, sorted.length + 1), sorted);
  for (const offset of [0, 1, 255, 256, 257, 512, 513, sorted.length - 1, sorted.length]) {
    if (offset < 0) continue;
    assert.equal(blocks.slice(offset, 100), sorted.slice(offset, offset + 100));
  }
}

function rising(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/**
 * The numbers from 0 to `count` − 1, each exactly once, in an order in which neighbours are far
 * apart. No number repeats, because `count` is never a multiple of the prime 7,919.
 */
function scattered(count: number): number[] {
  return rising(count).map((index) => (index * 7_919) % count);
}

for (const group of [beside, large]) group.run();
