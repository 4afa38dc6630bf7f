import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { HANDOFF_RETRY_MS } from '#cluster/failover-timing';
import type { ShardAnnouncement } from '#cluster/heartbeat';
import { Handoff } from '#cluster/shard-claims';
import type { ShardChange, ShardStore } from '#storage/ports/cluster';
import { ClusterWorld, silence } from '#test/cluster/membership/cluster-fixture';
import { memoryShardStore } from '#test/storage/memory/shard-store';
import { pass } from '#test/support/passing';
import { stateOf } from '#test/support/settled';

const MINE = { shard: 1, epoch: 1, owner: 'me-1' };

/** The handoff of `me`, which owns shard 1 at epoch 1. The node `a` is present. */
async function newScene() {
  const world = new ClusterWorld();
  const members = world.members('me');
  await world.begin('a');
  world.say('a');
  const stored = memoryShardStore();
  await stored.change({ service: 'engine', shard: 1, from: undefined, owner: 'me-1' });
  const asked: string[] = [];
  const twists: ((
    apply: () => ReturnType<ShardStore['change']>,
  ) => ReturnType<ShardStore['change']>)[] = [];
  let hasEnded = false;
  const shards: ShardStore = {
    ...stored,
    change: async (change: ShardChange) => {
      asked.push(change.owner);
      return await (twists.shift() ?? ((apply) => apply()))(() => stored.change(change));
    },
  };
  const host = { releasing: (shard: number) => void asked.push(`releasing ${shard}`) };
  const announced: ShardAnnouncement[] = [];
  members.onAnnouncement((announcement) => announced.push(announcement));
  const handoff = new Handoff(
    { service: 'engine', incarnation: 'me-1' },
    { ...world, members, shards, host, hasEnded: () => hasEnded },
  );
  const a = members.present().find(({ node }) => node === 'a');
  const row = async () => await stored.read('engine', 1);
  const end = () => {
    hasEnded = true;
  };
  return { world, members, handoff, twists, asked, announced, a, row, stored, end };
}

const receiver = suite('the receiver of a shard');

receiver('is the current incarnation of the node, if its journal has begun', async () => {
  const { world, handoff } = await newScene();
  assert.is((await handoff.receiverAt('a'))?.incarnation, 'a-1');
  world.say('b');
  assert.is(await handoff.receiverAt('b'), undefined);
  assert.is(await handoff.receiverAt('absent'), undefined);
  assert.is(await handoff.receiverAt(undefined), undefined);
});

receiver('is undefined when the journal is sealed or cannot be read', async () => {
  const { world, handoff } = await newScene();
  world.isStoreDown = true;
  assert.is(await handoff.receiverAt('a'), undefined);
  world.isStoreDown = false;
  await world.stored.seal('a-1');
  assert.is(await handoff.receiverAt('a'), undefined);
});

const giving = suite('a closed shard');

giving('gets its new owner at the next epoch, and every process is notified', async () => {
  const { handoff, a, row, announced, world } = await newScene();
  const expected = { shard: 1, epoch: 2, owner: 'a-1' };
  assert.equal(await handoff.give(MINE, a), expected);
  assert.equal(await row(), expected);
  world.clock.advance(0);
  assert.ok(
    announced.some(
      ({ incarnation, address, epoch }) => `${incarnation} ${address} ${epoch}` === 'a-1 a:1 2',
    ),
  );
});

giving('returns to this node at the next epoch when there is no other node', async () => {
  const { handoff, announced, world } = await newScene();
  assert.equal(await handoff.give(MINE, undefined), { ...MINE, epoch: 2 });
  world.clock.advance(0);
  assert.equal(announced, []);
});

giving('is given to the receiver again after each attempt without an answer', async () => {
  const { handoff, a, twists, asked, world } = await newScene();
  twists.push(
    async () => silence(),
    async () => silence(),
  );
  const given = handoff.give(MINE, a);
  await pass(world.clock, HANDOFF_RETRY_MS);
  assert.is(await stateOf(given), 'pending');
  await pass(world.clock, HANDOFF_RETRY_MS);
  assert.is((await given).owner, 'a-1');
  assert.equal(asked, ['releasing 1', 'a-1', 'a-1', 'a-1']);
});

giving(
  'counts as given if its row names the receiver after a change with unknown outcome',
  async () => {
    const { handoff, a, twists, asked, world } = await newScene();
    twists.push(async (apply) => {
      await apply();
      return silence();
    });
    const given = handoff.give(MINE, a);
    await pass(world.clock, HANDOFF_RETRY_MS);
    assert.equal(await given, { shard: 1, epoch: 2, owner: 'a-1' });
    assert.is(asked.length, 3);
  },
);

giving(
  'returns to this node when the receiver leaves, unless the receiver owns it by then',
  async () => {
    for (const isApplied of [false, true]) {
      const { handoff, a, twists, asked, world, members, row } = await newScene();
      twists.push(async (apply) => {
        if (isApplied) await apply();
        members.forget('a-1');
        return silence();
      });
      const given = handoff.give(MINE, a);
      await pass(world.clock, HANDOFF_RETRY_MS);
      assert.is((await given).owner, isApplied ? 'a-1' : 'me-1');
      assert.equal(asked, ['releasing 1', 'a-1', 'me-1']);
      assert.equal(await given, await row());
    }
  },
);

giving('is left unchanged when another node has taken it over', async () => {
  const { handoff, a, stored } = await newScene();
  await stored.change({ service: 'engine', shard: 1, from: MINE, owner: 'thief' });
  assert.equal(await handoff.give(MINE, a), { shard: 1, epoch: 2, owner: 'thief' });
});

giving('is left to other nodes when this incarnation ends', async () => {
  const { handoff, a, twists, asked, world, end } = await newScene();
  twists.push(async () => {
    end();
    return silence();
  });
  const given = handoff.give(MINE, a);
  await pass(world.clock, HANDOFF_RETRY_MS);
  assert.equal(await given, MINE);
  assert.is(asked.length, 2);
});

for (const suite of [receiver, giving]) suite.run();
