import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  LEAVE_SPREAD_MS,
  MOVE_COOLDOWN_MS,
  MOVES_IN_FLIGHT_MAX,
  OPEN_AFTER_SEAL_MS,
} from '#cluster/bounds';
import { FailureWatch } from '#cluster/failure-watch';
import { assignShards } from '#cluster/ring';
import { type MoveReason, ShardController } from '#cluster/shard-controller';
import type { ShardClaim, ShardHost } from '#cluster/shard-host';
import { memoryShardStore } from '#storage/memory/memory-shard-store';
import type { ShardChange, ShardRow, ShardStore } from '#storage/shard-store';
import { ClusterWorld, silence } from '#test/cluster/cluster-fixture';
import { pass } from '#test/support/passing';
import { stateOf } from '#test/support/settled';

const SHARDS = 8;
const STARTUP_GRACE_MS = 2_000;

/** A host that notes what is asked of it. */
class NotingHost implements ShardHost {
  readonly open = new Map<number, number>();
  readonly steps: string[] = [];
  readonly recovered = new Set<string>();
  adoptEnds: Promise<void> = Promise.resolve();
  isStoreDown = false;
  closeEnds: Promise<void> = Promise.resolve();
  isCloseBroken = false;

  isRecovered({ shard, epoch }: ShardClaim): boolean {
    return this.recovered.has(`${shard}@${epoch}`);
  }

  async recoverTail(incarnation: string, claims: readonly ShardClaim[]): Promise<void> {
    this.steps.push(
      `recoverTail ${incarnation} ${claims.map(({ shard, epoch }) => `${shard}@${epoch}`)}`,
    );
    if (this.isStoreDown) silence();
    await this.adoptEnds;
    for (const { shard, epoch } of claims) this.recovered.add(`${shard}@${epoch}`);
  }

  openShard({ shard, epoch }: ShardClaim): void {
    this.steps.push(`open ${shard}@${epoch}`);
    this.open.set(shard, epoch);
  }

  async closeShard(shard: number): Promise<void> {
    this.steps.push(`close ${shard}`);
    this.open.delete(shard);
    if (this.isCloseBroken) throw new Error('a bug');
    await this.closeEnds;
  }

  releasing(shard: number): void {
    this.steps.push(`leave ${shard}`);
  }

  decided({ shard, epoch }: ShardClaim): void {
    for (let e = epoch; e > 0; e -= 1) this.recovered.delete(`${shard}@${e}`);
  }
}

type Twist = (apply: () => ReturnType<ShardStore['change']>) => ReturnType<ShardStore['change']>;

/** The keeper of `me`, alone at first. Others are whoever speaks and has a journal. */
async function newScene() {
  const world = new ClusterWorld();
  await world.begin('me');
  let isLeaving = false;
  const members = world.members('me', () => isLeaving);
  const detector = new FailureWatch(
    {
      service: 'engine',
      prefix: 'test',
      incarnation: 'me-1',
      node: 'me',
      address: 'me:1',
      isDirect: true,
    },
    {
      ...world,
      members,
      takeSlowestAppendMs: () => 0,
      onSealed: () => undefined,
      onBug: (e) => world.bugs.push(e),
    },
  );
  const stored = memoryShardStore();
  const twists = new Map<number, Twist[]>();
  const changes: ShardChange[] = [];
  const net = { isConnected: true, isTableDown: false };
  const loads = { count: 0 };
  const shards: ShardStore = {
    ...stored,
    load: async (...of) => {
      loads.count += 1;
      if (net.isTableDown) silence();
      return await stored.load(...of);
    },
    change: async (change) => {
      changes.push(change);
      const twist = twists.get(change.shard)?.shift() ?? ((apply) => apply());
      return await twist(() => stored.change(change));
    },
  };
  const host = new NotingHost();
  const fences: string[] = [];
  const moves: MoveReason[] = [];
  const keeper = new ShardController(
    {
      service: 'engine',
      shardCount: SHARDS,
      incarnation: 'me-1',
      node: 'me',
      startupGraceMs: STARTUP_GRACE_MS,
    },
    {
      ...world,
      shards,
      members,
      detector,
      host,
      fence: (why) => {
        fences.push(why);
        host.open.clear();
        keeper[Symbol.dispose]();
      },
      isConnected: () => net.isConnected,
      onMoved: (reason) => moves.push(reason),
      onBug: (error) => world.bugs.push(error),
    },
  );
  const talking = new Set<string>();
  const live = async (durationMs: number): Promise<void> => {
    for (let leftMs = durationMs; leftMs > 0; leftMs -= 500) {
      // Whoever talks sees what we see, and its journal grows.
      for (const node of talking) {
        world.say(node, { viewHash: members.viewHash });
        await world.append(node);
      }
      await pass(world.clock, Math.min(leftMs, 500));
    }
  };
  const join = async (node: string): Promise<void> => {
    await world.begin(node);
    talking.add(node);
    world.say(node);
  };
  const kill = (node: string): void => {
    talking.delete(node);
    world.found.delete(`${node}:1`);
  };
  /** Makes rows as they would be after somebody else's changes. */
  const put = async (shard: number, owner: string): Promise<ShardRow | undefined> => {
    const from = await stored.read('engine', shard);
    return (await stored.change({ service: 'engine', shard, from, owner })).row;
  };
  const rowsNow = async () =>
    new Map(
      (await stored.load('engine', SHARDS)).map(({ shard, owner, epoch }) => [
        shard,
        `${owner}@${epoch}`,
      ]),
    );
  const leave = () => {
    isLeaving = true;
    return keeper.leave();
  };
  return {
    world,
    members,
    detector,
    host,
    keeper,
    twists,
    changes,
    net,
    fences,
    moves,
    live,
    join,
    kill,
    put,
    rowsNow,
    leave,
    loads,
    talking,
  };
}

const ALL = Array.from({ length: SHARDS }, (_, shard) => shard);

/** Shards that the ring gives to `node` among these. */
const shardsOf = (node: string, nodes: readonly string[]): number[] => {
  const ring = assignShards(nodes, SHARDS);
  return ALL.filter((shard) => ring[shard] === node);
};
const openNow = ({ host }: { host: NotingHost }) => [...host.open.keys()].sort((a, b) => a - b);

const outage = suite('when every owner has died');

/** Two owners of everything that have died, before anybody has noticed. */
async function newOutage() {
  const scene = await newScene();
  for (const node of ['a', 'b']) await scene.join(node);
  for (const shard of ALL) await scene.put(shard, shard % 2 === 0 ? 'a-1' : 'b-1');
  for (const node of ['a', 'b']) scene.kill(node);
  return scene;
}

outage('one that comes back alone listens who else does', async () => {
  const scene = await newOutage();
  await scene.live(STARTUP_GRACE_MS - 500);
  assert.is(scene.host.open.size, 0);
  await scene.live(4_000);
  assert.is(scene.host.open.size, SHARDS);
});

outage('as many as there were claim without waiting any longer', async () => {
  const scene = await newOutage();
  await scene.join('c');
  await scene.live(STARTUP_GRACE_MS - 500);
  assert.equal(openNow(scene), shardsOf('me', ['c', 'me']));
});

const first = suite('shards that nobody has ever owned');

first('are claimed by whom the ring gives them to, after listening for a while', async () => {
  const scene = await newScene();
  await scene.join('a');
  await scene.live(STARTUP_GRACE_MS - 500);
  assert.is(scene.host.open.size, 0);
  await scene.live(2_000);
  assert.equal(openNow(scene), shardsOf('me', ['a', 'me']));
  assert.ok(scene.moves.every((reason) => reason === 'first'));
  assert.is(scene.host.open.get(openNow(scene)[0] ?? -1), 1);
});

first('are claimed by nobody who has no bus', async () => {
  const scene = await newScene();
  scene.net.isConnected = false;
  await scene.live(6_000);
  assert.is(scene.changes.length, 0);
  scene.net.isConnected = true;
  await scene.live(1_500);
  assert.is(scene.host.open.size, SHARDS);
});

first('are opened when a claim that seemed to time out turns out to be ours', async () => {
  const scene = await newScene();
  scene.twists.set(3, [
    async (apply) => {
      await apply();
      return silence();
    },
  ]);
  await scene.live(6_000);
  assert.is(scene.host.open.get(3), 1);
  assert.is(scene.changes.filter(({ shard }) => shard === 3).length, 1);
});

first('are opened when a claim is not applied because our own earlier try was', async () => {
  const scene = await newScene();
  scene.twists.set(3, [
    async (apply) => {
      await apply();
      return await apply();
    },
  ]);
  await scene.live(6_000);
  assert.is(scene.host.open.get(3), 1);
});

first('are left alone when somebody else was faster', async () => {
  const scene = await newScene();
  await scene.join('a');
  const [shard = 0] = shardsOf('me', ['a', 'me']);
  scene.twists.set(shard, [
    async (apply) => {
      await scene.put(shard, 'a-1');
      return await apply();
    },
  ]);
  await scene.live(4_000);
  assert.not(scene.host.open.has(shard));
  assert.equal(scene.fences, []);
});

const dead = suite('the shards of a node that has died');

/** A scene in which `a` owned everything at epoch 1 and has died. */
async function afterDeath() {
  const scene = await newScene();
  await scene.join('a');
  for (const shard of ALL) await scene.put(shard, 'a-1');
  await scene.live(STARTUP_GRACE_MS + 1_000);
  assert.is(scene.host.open.size, 0);
  return scene;
}

dead('are recovered, then claimed, then opened, within a second', async () => {
  const scene = await afterDeath();
  scene.kill('a');
  await scene.live(1_000);
  assert.is(scene.host.open.size, SHARDS);
  const [recoverTail = ''] = scene.host.steps;
  assert.is(recoverTail, `recoverTail a-1 ${ALL.map((shard) => `${shard}@2`)}`);
  assert.ok([...scene.host.open.values()].every((epoch) => epoch === 2));
  assert.ok(scene.moves.every((reason) => reason === 'takeover'));
});

for (const isHeard of [true, false]) {
  const what = isHeard ? 'at once when all others are heard' : 'only after listening when not';
  dead(`are claimed by a node that has just started ${what}`, async () => {
    const scene = await newScene();
    await scene.world.begin('gone');
    scene.kill('gone');
    if (isHeard) await scene.join('a');
    else await scene.world.begin('a');
    for (const shard of ALL) await scene.put(shard, shard === 0 ? 'a-1' : 'gone-1');
    await scene.live(1_500);
    const mine = shardsOf('me', isHeard ? ['a', 'me'] : ['me']).filter((shard) => shard !== 0);
    assert.equal(openNow(scene), isHeard ? mine : []);
    await scene.live(STARTUP_GRACE_MS);
    assert.equal(openNow(scene), mine);
  });
}

dead('are not claimed before their records are durable', async () => {
  const scene = await afterDeath();
  const { promise, resolve } = Promise.withResolvers<void>();
  scene.host.adoptEnds = promise;
  scene.kill('a');
  await scene.live(10_000);
  assert.equal([scene.changes.length, scene.host.open.size], [0, 0]);
  resolve();
  await scene.live(500);
  assert.is(scene.host.open.size, SHARDS);
});

dead('are recovered again when adopting failed, and not claimed between', async () => {
  const scene = await afterDeath();
  scene.host.isStoreDown = true;
  scene.kill('a');
  await scene.live(1_000);
  assert.is(scene.changes.length, 0);
  scene.host.isStoreDown = false;
  await scene.live(2_000);
  assert.is(scene.host.open.size, SHARDS);
});

dead(
  'are recovered once for a claim that seemed to time out, and opened when it is decided',
  async () => {
    const scene = await afterDeath();
    scene.twists.set(3, [
      async (apply) => {
        await apply();
        return silence();
      },
    ]);
    scene.twists.set(4, [async () => silence()]);
    scene.kill('a');
    await scene.live(4_000);
    assert.equal([scene.host.open.get(3), scene.host.open.get(4)], [2, 2]);
    assert.is(scene.host.steps.filter((step) => step.startsWith('recoverTail')).length, 1);
  },
);

dead('whose claim somebody else has won are decided: their records may go', async () => {
  const scene = await afterDeath();
  await scene.join('b');
  const mine = shardsOf('me', ['b', 'me']);
  const [shard = 0] = mine;
  scene.twists.set(shard, [
    async () => {
      await scene.put(shard, 'b-1');
      return silence();
    },
  ]);
  scene.kill('a');
  await scene.live(3_000);
  assert.not(scene.host.open.has(shard));
  assert.not(scene.host.isRecovered({ shard, epoch: 2 }));
});

dead('wait for the end of its read lease when nothing proves its death', async () => {
  const scene = await afterDeath();
  scene.talking.delete('a');
  scene.world.found.set('a:1', { kind: 'silent' });
  await scene.world.stored.seal('a-1');
  await scene.live(2_000);
  assert.ok(scene.detector.isSealed('a-1'));
  assert.equal([scene.changes.length, scene.host.open.size], [0, 0]);
  assert.is(scene.host.steps.length, 1, 'recovered meanwhile');
  await scene.live(OPEN_AFTER_SEAL_MS + 3_000);
  assert.is(scene.host.open.size, SHARDS);
});

dead('wait no longer when the proof comes while they wait', async () => {
  const scene = await afterDeath();
  scene.world.found.set('a:1', { kind: 'silent' });
  await scene.world.stored.seal('a-1');
  scene.talking.delete('a');
  await scene.live(1_500);
  assert.is(scene.host.open.size, 0);
  scene.kill('a');
  await scene.live(500);
  assert.is(scene.host.open.size, SHARDS);
});

dead('are not touched by whoever hears fewer than half of the owners', async () => {
  const scene = await newScene();
  const hidden = ['b', 'c', 'd'];
  await scene.join('a');
  for (const node of hidden) await scene.world.begin(node);
  for (const shard of ALL) await scene.put(shard, `${['a', ...hidden][shard % 4]}-1`);
  // They work, but we do not hear them.
  const liveOn = async () => {
    for (const node of hidden) await scene.world.append(node);
    await scene.live(500);
  };
  for (let i = 0; i < 10; i += 1) await liveOn();
  scene.kill('a');
  for (let i = 0; i < 10; i += 1) await liveOn();
  assert.ok(scene.detector.isSealed('a-1'));
  assert.is(scene.changes.length, 0);
  for (const node of hidden.slice(1)) scene.talking.add(node);
  for (let i = 0; i < 3; i += 1) await liveOn();
  assert.ok(scene.host.open.size > 0);
});

const held = suite('a shard that is open here');

held('ends this life when the row names somebody else at a higher epoch', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  await scene.put(5, 'thief');
  await scene.live(1_500);
  assert.equal(scene.fences, ['shard 5 has been taken']);
});

held('ends this life when the row is ours at an epoch that we did not write', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  await scene.put(5, 'me-1');
  await scene.live(1_500);
  assert.is(scene.fences.length, 1);
});

held('stays open while the table cannot be read, and without the bus', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  scene.net.isTableDown = true;
  scene.net.isConnected = false;
  await scene.live(10_000);
  assert.equal([scene.host.open.size, scene.fences.length], [SHARDS, 0]);
});

held('after this life is looked at no more', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  await scene.put(5, 'thief');
  await scene.live(1_500);
  const { loads, changes, host } = scene;
  const [loaded, changed, steps] = [loads.count, changes.length, host.steps.length];
  scene.keeper.wake();
  await scene.live(5_000);
  assert.equal([loads.count, changes.length, host.steps.length], [loaded, changed, steps]);
});

const moved = suite('a shard that the ring gives to another node');

moved('is closed, then given, and opened here no more', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  await scene.join('a');
  await scene.live(6_000);
  assert.equal(openNow(scene), shardsOf('me', ['a', 'me']));
  const rows = await scene.rowsNow();
  for (const shard of shardsOf('a', ['a', 'me'])) assert.is(rows.get(shard), 'a-1@2');
  assert.is(scene.moves.filter((reason) => reason === 'handed_off').length, SHARDS / 2);
});

moved('waits until views have agreed for 3 s', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  await scene.join('a');
  await scene.live(2_500);
  assert.is(scene.host.open.size, SHARDS);
});

moved('stays while the other’s journal has not begun, and is not even closed', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  scene.talking.add('a');
  scene.world.found.set('a:1', { kind: 'answered', incarnation: 'a-1' });
  await scene.live(8_000);
  assert.is(scene.host.open.size, SHARDS);
  assert.not(scene.host.steps.some((step) => step.startsWith('close')));
});

moved('takes no room from others with a try that came to nothing', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  scene.talking.add('a');
  scene.world.found.set('a:1', { kind: 'answered', incarnation: 'a-1' });
  const tries = 1 + Math.ceil(MOVES_IN_FLIGHT_MAX / shardsOf('a', ['a', 'me']).length);
  await scene.live(tries * (MOVE_COOLDOWN_MS + 1_000));
  assert.is(scene.host.open.size, SHARDS);
  await scene.world.begin('a');
  await scene.live(MOVE_COOLDOWN_MS + 2_000);
  assert.equal(openNow(scene), shardsOf('me', ['a', 'me']));
});

moved('is not given before it is closed, nor opened again at its epoch', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  const { promise, resolve } = Promise.withResolvers<void>();
  scene.host.closeEnds = promise;
  await scene.join('a');
  await scene.live(6_000);
  assert.is((await scene.rowsNow()).get(shardsOf('a', ['a', 'me'])[0] ?? -1), 'me-1@1');
  for (const shard of shardsOf('a', ['a', 'me'])) scene.members.announce(shard, 1);
  await scene.live(1_000);
  assert.equal(openNow(scene), shardsOf('me', ['a', 'me']));
  resolve();
  await scene.live(500);
  assert.is((await scene.rowsNow()).get(shardsOf('a', ['a', 'me'])[0] ?? -1), 'a-1@2');
});

moved('is moved on when closing went wrong, and never opened again at its epoch', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  scene.host.isCloseBroken = true;
  await scene.join('a');
  await scene.live(6_000);
  scene.host.isCloseBroken = false;
  await scene.live(2_000);
  const rows = await scene.rowsNow();
  for (const shard of shardsOf('a', ['a', 'me'])) assert.is(rows.get(shard), 'a-1@2');
  const opened = scene.host.steps.filter((step) => step.startsWith('open'));
  assert.is(new Set(opened).size, opened.length);
});

moved('comes back at a new epoch when the other dies before it has it', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  const [shard = 0] = shardsOf('a', ['a', 'me']);
  scene.twists.set(
    shard,
    Array.from({ length: 3 }, () => async () => silence()),
  );
  const { promise, resolve } = Promise.withResolvers<void>();
  scene.host.closeEnds = promise;
  await scene.join('a');
  await scene.live(5_000);
  scene.kill('a');
  scene.members.forget('a-1');
  resolve();
  await scene.live(3_000);
  assert.is(scene.host.open.get(shard), 2);
  assert.is((await scene.rowsNow()).get(shard), 'me-1@2');
});

moved('is opened by whom the row names, once, whatever is announced', async () => {
  const scene = await newScene();
  await scene.join('a');
  for (const shard of ALL) await scene.put(shard, 'a-1');
  await scene.live(3_500);
  await scene.put(2, 'me-1');
  for (let i = 0; i < 3; i += 1) {
    scene.members.announceFor({ incarnation: 'me-1', address: 'me:1' }, { shard: 2, epoch: 2 });
    await scene.live(500);
  }
  assert.equal(
    scene.host.steps.filter((step) => step.includes('2@')),
    ['open 2@2'],
  );
  assert.equal(scene.moves, ['given']);
});

const leaving = suite('a node that leaves');

leaving('gives everything to the others, one after the other, and is then done', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  await scene.join('a');
  const left = scene.leave();
  const given = async () =>
    [...(await scene.rowsNow()).values()].filter((row) => row === 'a-1@2').length;
  await scene.live(LEAVE_SPREAD_MS / 2);
  const half = await given();
  assert.ok(half > 0 && half <= 1 + SHARDS / 2, `${half} have gone in half of the time`);
  await scene.live(LEAVE_SPREAD_MS / 2);
  assert.equal(await stateOf(left), { value: undefined });
  assert.ok([...(await scene.rowsNow()).values()].every((row) => row === 'a-1@2'));
});

leaving('gives on what the table has given it and it has not looked at yet', async () => {
  const scene = await newScene();
  await scene.join('a');
  for (const shard of ALL) await scene.put(shard, 'a-1');
  await scene.live(4_000);
  await scene.put(0, 'me-1');
  const left = scene.leave().then(() => scene.keeper[Symbol.dispose]());
  await scene.live(2_000);
  assert.equal(await stateOf(left), { value: undefined });
  assert.is((await scene.rowsNow()).get(0), 'a-1@3');
});

leaving('is done with its incarnation', async () => {
  const scene = await newScene();
  const left = scene.leave();
  scene.keeper[Symbol.dispose]();
  await scene.live(1_000);
  assert.equal(await stateOf(left), { value: undefined });
});

leaving('closes everything when nobody is there, and keeps the rows', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  const changed = scene.changes.length;
  const left = scene.leave();
  await scene.live(2_000);
  assert.equal(await stateOf(left), { value: undefined });
  assert.is(scene.host.steps.filter((step) => step.startsWith('close')).length, SHARDS);
  assert.is(scene.changes.length, changed);
  const loaded = scene.loads.count;
  await scene.live(2_000);
  assert.ok(scene.loads.count - loaded <= 3, 'the table is not asked without pause');
});

leaving('waits for what closes', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  const { promise, resolve } = Promise.withResolvers<void>();
  scene.host.closeEnds = promise;
  const left = scene.leave();
  await scene.live(3_000);
  assert.is(await stateOf(left), 'pending');
  resolve();
  await scene.live(1_000);
  assert.equal(await stateOf(left), { value: undefined });
});

leaving('claims nothing more', async () => {
  const scene = await afterDeath();
  const left = scene.leave();
  scene.kill('a');
  await scene.live(4_000);
  assert.equal(await stateOf(left), { value: undefined });
  assert.is(scene.changes.length, 0);
});

for (const suite of [outage, first, dead, held, moved, leaving]) suite.run();
