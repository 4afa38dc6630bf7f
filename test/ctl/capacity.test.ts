import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { UNFLUSHED_BYTES_MAX } from '#actor-runtime/actor-bounds';
import { describeVariables } from '#config';
import { ASSUMED, capacityFor, type Load, unitCosts, unitCostsOf } from '#ctl/capacity/capacity';
import { type MeasuredFigures, measuredFigures } from '#ctl/capacity/measured';
import { PEERS_MAX } from '#routing/retry-policy';
import { ctl } from '#test/ctl/ctl-run';

const SMALL: Load = { observations: 1_000, instances: 1_000, keyedShare: 0, headroom: 0.4 };

/** Fixed figures, so that a new benchmark does not change the expected plans. */
const FIXED: MeasuredFigures = {
  edgeUs: 71.8,
  edgeKeyedUs: 103.1,
  limiterUs: 15.4,
  limiterPlainUs: 8.6,
  limiterKeyedUs: 11.3,
  engineUs64: 42.3,
  engineUs256: 29.1,
  enginePlainUs: 58.3,
  engineKeyedUs: 105.7,
  engineFewUs: 46,
  engineManyUs: 101,
  engineColdUs: 216,
  cassandraUs64: 34.6,
  cassandraUs256: 18.7,
  cassandraPlainUs: 20.1,
  cassandraKeyedUs: 85.1,
  cassandraFewUs: 30,
  cassandraManyUs: 55,
  cassandraColdUs: 297,
  observationsPerSecond: 7_423,
  groupRecords64: 29.8,
  engineMiB: 176,
  engineFullMiB: 647,
  liveBytesPerInstance: 1_818,
  rowBytes: 18.3,
  headBytesPerObservation: 10.2,
  headObservations: 6_003_535,
  answerBytes: 537.5,
};

function planned(load: Partial<Load>) {
  const capacity = capacityFor({ ...SMALL, ...load }, unitCostsOf(FIXED));
  if (capacity === undefined) throw new Error('one cluster is too small');
  return capacity;
}

/** Asserts that a figure equals a manual calculation, within 0.1 %. */
function near(actual: number, expected: number, what: string): void {
  assert.ok(Math.abs(actual / expected - 1) < 1e-3, `${what}: ${actual}, not ${expected}`);
}

const plan = suite('the capacity plan');

plan('for 1,000 observations per second equals a manual calculation', () => {
  const { edges, limiters, engines, cassandra, nats, shards } = planned({});
  assert.equal([edges.count, limiters.count, engines.count], [2, 2, 2]);
  near(edges.busy, 0.0718, 'edges');
  near(limiters.busy, 0.0154, 'limiters');
  // Per engine: 500 observations a second in 249.1 groups, and 60,000 in a checkpoint of 500 heads.
  near(engines.groupRecords, 2.00727, 'records per group');
  near(engines.perCheckpoint, 120, 'records per checkpoint');
  // 21.264 + 626.87 / 2.00727 + 55 / 120 µs.
  near(engines.busy, 0.33402, 'engines');
  // Besides the tail: 176 MiB, and 471 MiB / 100,000 for each of 500 instances.
  near(engines.bytesEach - UNFLUSHED_BYTES_MAX, 187_018_772, 'memory');
  // 3 replicas of 9.2614 + 755.09 / 2.00727 + 25 / 120 µs.
  near(cassandra.busy, 1.15695, 'Cassandra');
  assert.is(cassandra.count, 3);
  near(cassandra.appendsPerSecond, 498.19, 'appends');
  near(cassandra.diskPerDayEach, 1.58112e9, 'disk per day');
  near(cassandra.diskAtOnceEach, 1.22472e6, 'constant disk size');
  assert.equal(nats, { count: 3, bytesPerSecond: 24_000 });
  assert.is(shards, 256);
});

plan('includes the cost of idempotency keys, and of stored answers for 25 hours', () => {
  const { edges, engines, cassandra } = planned({ keyedShare: 0.5 });
  near(edges.busy, 0.0718 + 0.5 * 0.0313, 'edges');
  near(engines.busy, 0.33402 + 0.5 * 0.0474, 'engines');
  near(cassandra.busy, 1.15695 + 3 * 0.5 * 0.065, 'Cassandra');
  near(cassandra.diskAtOnceEach, 1.22472e6 + 1_000 * 0.5 * 90_000 * 537.5, 'constant disk size');
});

plan('includes the activation of instances that are idle for more than 15 minutes', () => {
  const { engines, cassandra } = planned({ observations: 100, instances: 200_000 });
  assert.equal([engines.active, engines.areCold, engines.perCheckpoint], [90_000, true, 1]);
  // 21.264 + 626.87 + 55 + 115 µs, and 3 × (9.2614 + 755.09 + 25) + 2 × 242 µs.
  near(engines.busy, 100 * 818.134e-6, 'engines');
  near(cassandra.busy, 100 * 2_852.05e-6, 'Cassandra');
});

plan('covers the load after a process failure, even without headroom', () => {
  assert.is(planned({ observations: 13_900, headroom: 0 }).edges.count, 2);
  assert.is(planned({ observations: 27_000, headroom: 0 }).edges.count, 3);
});

plan('has enough engine memory for all active instances', () => {
  // 50,000,000 × 1,818 bytes in 0.6 GiB each.
  const { engines } = planned({ observations: 100_000, instances: 50_000_000 });
  assert.is(engines.count, 142);
});

plan('has equal numbers of Cassandra servers in three zones, and 25 shards per engine', () => {
  const { cassandra, engines, shards } = planned({ observations: 400_000, instances: 100_000 });
  assert.is(cassandra.count % 3, 0);
  assert.ok(cassandra.busy <= cassandra.count * 4 * 0.6, `${cassandra.busy}`);
  assert.is(shards, engines.count * 25);
});

plan('never becomes smaller for a larger load', () => {
  let before = planned({});
  for (const observations of [2_000, 10_000, 50_000, 200_000, 1_000_000]) {
    const now = planned({ observations });
    for (const part of ['edges', 'limiters', 'engines', 'cassandra'] as const) {
      assert.ok(now[part].count >= before[part].count, `${observations}: ${part}`);
      assert.ok(now[part].busy > before[part].busy, `${observations}: ${part}`);
    }
    before = now;
  }
});

const figures = suite('the capacity figures');

// Catches a renamed row, column or process of the benchmark, which would leave a figure out.
figures('are positive numbers, and keys and cold instances cost more', () => {
  for (const [name, value] of Object.entries(measuredFigures())) {
    assert.ok(Number.isFinite(value) && value > 0, `${name}: ${value}`);
  }
  for (const part of [unitCosts().edge, unitCosts().engine, unitCosts().cassandra]) {
    assert.ok(part.keyed >= 0 && part.observation > 0, JSON.stringify(part));
  }
  assert.ok(unitCosts().engine.activation > 0);
});

figures('match the defaults of the service', () => {
  const fallback = (name: string) =>
    Number(describeVariables().find((one) => one.name === name)?.fallback);
  assert.is(ASSUMED.idleSeconds, fallback('SERVICE_ACTOR_IDLE_S'));
  assert.is(ASSUMED.actorMiB, fallback('SERVICE_ACTOR_MEMORY_MIB'));
  assert.is(ASSUMED.shardsUsual, fallback('SERVICE_SHARDS'));
  assert.is(ASSUMED.enginesMost, PEERS_MAX);
  const schema = readFileSync('services/infrastructure/storage/cassandra/schema.cql', 'utf8');
  assert.ok(schema.includes(`TTL ${ASSUMED.answerSeconds},`));
  const manifest = parse(readFileSync('deploy/kubernetes/stores/cassandra.yaml', 'utf8'));
  const [datacenter] = manifest.spec.cassandra.datacenters;
  assert.is(datacenter.resources.requests.cpu, String(ASSUMED.cassandraCores));
  assert.is(datacenter.size, ASSUMED.copies);
});

const command = suite('ctl capacity');
const LOAD = ['--observations', '5000', '--instances', '1000000'];

command('prints the number of each component with the reason, without a service', async () => {
  const { code, out } = await ctl(['capacity', ...LOAD, '--keyed-share', '0.2'], {});
  assert.is(code, 0);
  assert.match(out, /^Load: 5,000 observations per second, 1,000,000 instances, 20 % of calls/);
  for (const line of [
    /^edges +\d+ +1 core +[\d.]+ busy cores: [\d.]+ µs per call, [\d.]+ µs more with a key$/m,
    /^engines +\d+ +1 core, [\d.]+ GB +[\d.]+ busy cores; 1,000,000 instances in memory;/m,
    /^Cassandra +\d+ +4 cores +[\d.]+ busy cores/m,
    /^disk +\d+ +[\d.]+ GB per day +plus [\d.]+ GB/m,
    /^Extrapolated: 3 Cassandra servers with three copies; measured with 1\.$/m,
    /^Measurements in bench\/RESULTS\.md: cluster \d{4}-\d\d-\d\d at \w+.*; many /m,
  ]) {
    assert.match(out, line);
  }
});

command('prints the same plan as JSON', async () => {
  const { out } = await ctl(['capacity', ...LOAD, '--headroom', '0.5', '--json'], {});
  const { load, ...capacity } = JSON.parse(out);
  const said = { observations: 5_000, instances: 1_000_000, keyedShare: 1, headroom: 0.5 };
  assert.equal(load, said);
  assert.equal(capacity, capacityFor(said));
});

for (const [exitCode, args, line] of [
  [2, [], /'--observations <n>' not specified/],
  [2, ['--observations', '5'], /'--instances <n>' not specified/],
  [
    2,
    ['--observations', 'many', '--instances', '1'],
    /'many' is invalid. It must be a number of at least 1/,
  ],
  [
    2,
    ['--observations', '0', '--instances', '1'],
    /--observations.*'0'.* must be a number of at least 1/,
  ],
  [
    2,
    ['--observations', '1', '--instances', '1e3'],
    /--instances.*'1e3'.* must be a number of at least 1/,
  ],
  [2, [...LOAD, '--keyed-share', '20'], /--keyed-share.*'20'.* must be a number from 0 to 1/],
  [2, [...LOAD, '--headroom', '1'], /--headroom.*'1'.* must be a number from 0 to 0.9/],
  [2, [...LOAD, '--headroom', ''], /--headroom.*''.* must be a number from 0 to 0.9/],
  [
    1,
    ['--observations', '900000000', '--instances', '1'],
    /this load needs more than 256 engines, .*: use several clusters$/,
  ],
] as const) {
  command(`refuses ${args.join(' ') || 'missing options'} with a one-line error`, async () => {
    const { code, out, err } = await ctl(['capacity', ...args], {});
    assert.equal([code, out], [exitCode, '']);
    assert.match(err, line);
    assert.match(err, /^ctl: [^\n]+$/);
  });
}

plan.run();
figures.run();
command.run();
