import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { shardOf } from '#cluster/shard-owners';
import { bucketsOf } from '#storage/ports/instances';

/** Buckets that the first version computed. Other buckets would make stored data unreachable. */
const GOLDEN: readonly (readonly [id: string, of64: number, of256: number])[] = [
  ['', 11, 3083],
  ['inst_23be18a841221222', 568, 1592],
  ['JATq61c4VvoZ', 641, 2689],
];

const bucket = suite('the bucket of an actor');

bucket('is the same in every version', () => {
  for (const [id, of64, of256] of GOLDEN) {
    assert.equal([bucketsOf(64)(id), bucketsOf(256)(id)], [of64, of256], id);
  }
});

bucket('belongs to one shard, and every shard has 16 buckets', () => {
  for (const shardCount of [1, 7, 256]) {
    const shards = new Map<number, number>();
    const bucketOf = bucketsOf(shardCount);
    for (let n = 0; n < 60_000; n += 1) {
      const id = `inst_${n.toString(16).padStart(16, '0')}`;
      const shard = shards.get(bucketOf(id)) ?? shardOf(id, shardCount);
      shards.set(bucketOf(id), shard);
      assert.is(shardOf(id, shardCount), shard);
    }
    assert.is(shards.size, 16 * shardCount);
  }
});

bucket.run();
