import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { shardOf } from '#cluster/shard-owners';
import { hashText } from '#stdlib/hash-map';

/**
 * Computed once with the first version. A change of any row would send calls to the wrong owner.
 */
const GOLDEN: readonly (readonly [id: string, hash: number, of64: number, of256: number])[] = [
  ['', 2872998923, 11, 11],
  ['a', 444641715, 51, 179],
  ['inst_23be18a841221222', 2816198200, 56, 56],
  ['inst_0000000000000000', 844252939, 11, 11],
  ['JATq61c4VvoZ', 1855838849, 1, 129],
  ['mtQT2pbsXc9A', 3448315485, 29, 93],
  ['Ünïcödé 日本 🙂', 2624989781, 21, 85],
];

const IDS = 100_000;

/** Families of ids that differ very little. */
const FAMILIES: Record<string, (n: number) => string> = {
  'instances numbered one by one': (n) => `inst_${n.toString(16).padStart(16, '0')}`,
  'instances with leading numbers': (n) => `inst_${n.toString(16).padEnd(16, '0')}`,
  'instances with distant numbers': (n) =>
    `inst_${(BigInt(n) * 0x9e3779b97f4a7c15n).toString(16).slice(-16)}`,
  'names with a number': (n) => `agent-${n}`,
};

const shard = suite('the shard of an actor');

shard('is the same in every version', () => {
  for (const [id, hash, of64, of256] of GOLDEN) {
    assert.equal([hashText(id), shardOf(id, 64), shardOf(id, 256)], [hash, of64, of256], id);
  }
});

for (const [family, idOf] of Object.entries(FAMILIES)) {
  shard(`is equally likely for ${family}`, () => {
    for (const count of [7, 64, 256]) {
      const loads = new Float64Array(count);
      for (let n = 0; n < IDS; n += 1) {
        const at = shardOf(idOf(n), count);
        loads[at] = (loads[at] ?? 0) + 1;
      }
      const expected = IDS / count;
      const chiSquare = loads.reduce((sum, load) => sum + (load - expected) ** 2 / expected, 0);
      // Five standard deviations above the expected value for random ids.
      assert.ok(chiSquare < count + 5 * Math.sqrt(2 * count), `${count} shards: ${chiSquare}`);
    }
  });
}

shard.run();
