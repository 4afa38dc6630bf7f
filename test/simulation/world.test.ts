import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SeededRandom } from '#test/simulation/seeded-random';
import { SimulatedProcess } from '#test/simulation/simulated/process';
import { SimulatedShards } from '#test/simulation/simulated/shards';
import { SimulatedStore } from '#test/simulation/simulated/store';
import { World } from '#test/simulation/world';
import { memoryShardStore } from '#test/storage/memory/shard-store';
import { refusalOf } from '#test/support/settled';

const time = suite('a simulation');

time('runs events in time order and settles promises between two events', async () => {
  const world = new World(1);
  const seen: string[] = [];
  world.after(20, () => seen.push('b'));
  const chain = async (): Promise<void> => {
    await world.sleep(10);
    for (let step = 0; step < 100; step += 1) await undefined;
    seen.push('a');
  };
  await world.run(Promise.all([chain(), world.sleep(30)]));
  assert.equal(seen, ['a', 'b']);
  assert.is(world.nowMs, 30);
});

time('does not run a cancelled event', async () => {
  const world = new World(1);
  const cancelled = world.after(5, () => assert.unreachable());
  cancelled[Symbol.dispose]();
  await world.run(world.sleep(10));
});

time('ends with the error that an event throws', async () => {
  const world = new World(1);
  world.after(1, () => {
    throw new Error('broken');
  });
  assert.match((await refusalOf(() => world.run(world.sleep(10)))).message, /broken/);
});

time('ends with an error if a promise is pending but no event is scheduled', async () => {
  const never = new World(1).run(new Promise(() => undefined));
  assert.match((await refusalOf(() => never)).message, /has halted/);
});

const processes = suite('a simulated process');

processes('receives nothing after its end, but its earlier messages take effect', async () => {
  const world = new World(1);
  const store = new SimulatedStore(world);
  const shards = new SimulatedShards(store, () => undefined);
  const process = new SimulatedProcess(world, 'n1');
  let hasAnswer = false;
  const answered = (): void => {
    hasAnswer = true;
  };
  process.clock.after(1_000, () => assert.unreachable());
  const change = { service: 'engine', shard: 3, from: undefined, owner: 'n1' } as const;
  shards.portOf(process).change(change).then(answered, answered);
  process.end();
  await world.run(world.sleep(5_000));
  assert.not(hasAnswer);
  assert.is((await shards.truth.read('engine', 3))?.owner, 'n1');
});

processes('receives delayed events after a pause, and its clocks include the pause', async () => {
  const world = new World(1);
  const process = new SimulatedProcess(world, 'n1', 500);
  const times: number[] = [];
  for (const delayMs of [10, 20]) {
    process.clock.after(delayMs, () => times.push(process.clock.monotonicMs()));
  }
  process.pause('stop');
  await world.run(world.sleep(8_000));
  assert.equal(times, []);
  process.resume();
  await world.run(world.sleep(10));
  assert.equal(times.length, 2);
  assert.ok(times.every((atMs) => atMs >= 8_000));
  assert.is(process.clock.wallMs() - Math.floor(world.wallMs()), 500);
});

processes('counts a suspend of its machine on the wall clock only', async () => {
  const world = new World(1);
  const process = new SimulatedProcess(world, 'n1');
  await world.run(world.sleep(1_000));
  process.pause('suspend');
  await world.run(world.sleep(7_000));
  process.resume();
  await world.run(world.sleep(1_000));
  assert.is(process.clock.monotonicMs(), 2_000);
  assert.is(process.clock.wallMs(), world.wallMs());
});

const store = suite('a simulated store');

store('may execute a write seconds after answering with a timeout', async () => {
  const world = new World(4);
  const server = new SimulatedStore(world);
  server.faults = { slow: 0, answerLost: 0, executedLate: 1, refused: 0, swallowed: 0 };
  const shards = new SimulatedShards(server, () => undefined);
  const process = new SimulatedProcess(world, 'n1');
  const change = { service: 'engine', shard: 0, from: undefined, owner: 'n1' } as const;
  const answered = refusalOf(() => shards.portOf(process).change(change));
  const fault = await world.run(answered);
  assert.is('isOutcomeUnknown' in fault && fault.isOutcomeUnknown, true);
  await world.run(world.sleep(15_000));
  assert.is((await shards.truth.read('engine', 0))?.owner, 'n1');
});

store('executes calls that arrive during a stall when the stall ends', async () => {
  const world = new World(4);
  const server = new SimulatedStore(world);
  const shards = new SimulatedShards(server, () => undefined);
  const process = new SimulatedProcess(world, 'n1');
  server.stall(8_000);
  const change = { service: 'engine', shard: 0, from: undefined, owner: 'n1' } as const;
  await world.run(refusalOf(() => shards.portOf(process).change(change)));
  assert.ok(world.nowMs >= 2_000 && world.nowMs < 2_001, 'the driver gives up after 2 s');
  assert.is(await shards.truth.read('engine', 0), undefined);
  await world.run(world.sleep(7_000));
  assert.is((await shards.truth.read('engine', 0))?.owner, 'n1');
});

store('disconnects one process and serves the others', async () => {
  const world = new World(4);
  const server = new SimulatedStore(world);
  server.setCut('n1', true);
  const shards = new SimulatedShards(server, () => undefined);
  const cut = shards.portOf(new SimulatedProcess(world, 'n1'));
  const other = shards.portOf(new SimulatedProcess(world, 'n2'));
  const refused = refusalOf(() => cut.fixCount('engine', 8));
  assert.is(await world.run(other.fixCount('engine', 16)), 16);
  assert.match((await world.run(refused)).message, /no answer/);
  assert.is(await memoryShardStore().fixCount('engine', 8), 8);
});

const chance = suite('seeded random numbers');

chance('are repeatable and uniform, and differ between seeds', () => {
  const draws = (seed: number): number[] => {
    const random = new SeededRandom(seed);
    return Array.from({ length: 10_000 }, () => random.unit());
  };
  assert.equal(draws(7), draws(7));
  assert.not.equal(draws(7).slice(0, 4), draws(8).slice(0, 4));
  const buckets = new Array<number>(10).fill(0);
  for (const drawn of draws(9)) {
    const bucket = Math.floor(drawn * 10);
    buckets[bucket] = (buckets[bucket] ?? 0) + 1;
  }
  assert.ok(buckets.every((count) => count > 850 && count < 1_150));
});

for (const each of [time, processes, store, chance]) each.run();
