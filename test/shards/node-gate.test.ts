import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Fault } from '#errors/fault';
import { newScene } from '#test/shards/shards-fixture';
import { refusalOf } from '#test/support/settled';

const gates = suite('a call for a shard that is not open on this node');

gates('is refused, and the refusal names the owner if known', async () => {
  const { gate, shards, owner, counts } = await newScene();
  const refusal = (await refusalOf(() => gate.assertOpen(1))) as Fault;
  assert.equal(
    [refusal.code, refusal.reason, refusal.owner],
    ['service_unavailable', 'not_owner', owner],
  );
  assert.is(((await refusalOf(() => gate.assertOpen(2))) as Fault).owner, undefined);
  shards.openShard({ shard: 1, epoch: 1 });
  gate.assertOpen(1);
  assert.is(counts.notOwner, 2, 'is counted as a refusal');
});

gates.run();
