import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { UNFLUSHED_BYTES_MAX } from '#actor-runtime/actor-bounds';
import { describeVariables } from '#config';
import { ASSUMED, capacityFor, engineWork, type Load, UNIT_COSTS } from '#ctl/capacity/capacity';
import { MEASURED, type Measured } from '#ctl/capacity/measured';
import { PEERS_MAX } from '#routing/retry-policy';
import { ctl } from '#test/ctl/ctl-run';

const SMALL: Load = { observations: 1_000, instances: 1_000, keyedShare: 0, headroom: 0.4 };

function planned(load: Partial<Load>) {
  const capacity = capacityFor({ ...SMALL, ...load });
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

/** Lines of the report that may contain a figure. */
function linesFor({ source, chapter, row }: Measured): string[] {
  const text = readFileSync(source, 'utf8');
  const chapters = text.split(/^## /m).filter((one) => one.startsWith(`${chapter}\n`));
  const lines = chapters.flatMap((one) => one.split('\n'));
  return row === undefined
    ? lines
    : lines.filter((line) => line.startsWith(`| ${row}`) && !line.startsWith(`| ${row},0`));
}

for (const [name, figure] of Object.entries(MEASURED) as [string, Measured][]) {
  figures(`equal the figures in the reports: ${name}`, () => {
    const { value, source, row = '', text } = figure;
    assert.ok(
      text.replaceAll(',', '').includes(String(value)),
      `"${text}" does not contain ${value}`,
    );
    const found = linesFor(figure).filter((line) => line.includes(text));
    assert.ok(found.length > 0, `${source} has no "${text}" ${row}: copy the newer figure`);
  });
}

figures('are as accurate as docs/scale.md says', () => {
  const ratios = readFileSync('bench/SCALE.md', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const cells = line.replaceAll(',', '').split(' | ');
      const [, count] = /^\| (\d) × \d+$/.exec(cells[0] ?? '') ?? [];
      return count === undefined ? [] : [ratiosOf(Number(count), cells.map(Number.parseFloat))];
    });
  assert.is(ratios.length, 9);
  const page = readFileSync('docs/scale.md', 'utf8').replaceAll(/\s+/g, ' ');
  for (const part of ['engines', 'cassandra'] as const) {
    const sorted = ratios.map((ratio) => ratio[part]).toSorted((a, b) => a - b);
    const [least = 0, most = 0] = [sorted.at(0), sorted.at(-1)];
    const range = `${least.toFixed(2)} to ${most.toFixed(2)} times`;
    assert.ok(page.includes(range), `${part}: ${range}`);
  }
});

/** Computed CPU divided by measured CPU, for a row of the growth table in bench/SCALE.md. */
function ratiosOf(count: number, cells: readonly number[]) {
  const [, observations = 0, , , , , enginesUs = 0, cassandraUs = 0, , , active = 0] = cells;
  const load = { observations, instances: active, keyedShare: 0, headroom: 0 };
  const { busy, groupRecords, perCheckpoint } = engineWork(load, count);
  const { observation, append, head } = UNIT_COSTS.cassandra;
  const us = observation + append / groupRecords + head / perCheckpoint;
  return { engines: (busy * 1e6) / observations / enginesUs, cassandra: us / cassandraUs };
}

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
    /^edges +2 +1 core +0\.39 busy cores: 71\.8 µs per call, 31\.3 µs more with a key$/m,
    /^engines +3 +1 core, 2\.\d+ GB +0\.897 busy cores; 1,000,000 instances in memory;/m,
    /^Cassandra +3 +4 cores +2\.4 busy cores/m,
    /^disk +3 +7\.91 GB per day +plus 49\.6 GB/m,
  ]) {
    assert.match(out, line);
  }
});

command('prints the same plan as JSON', async () => {
  const { out } = await ctl(['capacity', ...LOAD, '--headroom', '0.5', '--json'], {});
  const { load, ...capacity } = JSON.parse(out);
  const said = { observations: 5_000, instances: 1_000_000, keyedShare: 1, headroom: 0.5 };
  assert.equal(load, said);
  assert.equal(capacity, planned(said));
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
