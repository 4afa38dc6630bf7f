import { UNFLUSHED_RECORDS_MAX } from '#actor-runtime/actor-bounds';
import { SHARDS, startDurable } from '#bench/durable/service';
import { metricsOf, sumOf } from '#bench/measures/cycle-count';
import { unflushedRecords, untilStoredIn } from '#bench/measures/gauges';
import { mebibytes, spreadOf, spreadText } from '#bench/measures/statistics';
import { rounded } from '#bench/page/comparison';
import type { Findings, Part, Quantity } from '#bench/page/part';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { type Engine, EngineFleet } from '#bench/scale/fail-over/engine-fleet';
import { type Killed, killEngine } from '#bench/scale/fail-over/killed-engine';
import {
  openStoredOwners,
  type StoredOwners,
  type StoredTail,
} from '#bench/scale/fail-over/stored-owners';
import { ObservedInstances } from '#bench/scale/observed-instances';
import { latenciesOf } from '#bench/scale/rates/latencies';
import { storeWorkBetween, storeWorkIn } from '#bench/scale/store-work';
import { shardOf } from '#cluster/shard-owners';

const ENGINES = 3;
const INSTANCES = 5_000;
const INSTANCES_QUICK = 300;

/** Metric of records recovered from another node's journal. */
const RECOVERED = 'recovered_records_total';

/** Length of a tail in records, number of kills, and maximum time until the last shard answers. */
type Tail = {
  readonly records: number;
  readonly times: number;
  readonly answeredMsMax: number;
};

/** Targets for a takeover. */
const TAILS: readonly Tail[] = [
  { records: 20_000, times: 3, answeredMsMax: 1_000 },
  { records: UNFLUSHED_RECORDS_MAX, times: 2, answeredMsMax: 3_000 },
];
// A second kill would take more than two minutes, because it waits until all records are stored.
const TAILS_QUICK: readonly Tail[] = [{ records: 500, times: 1, answeredMsMax: 1_000 }];

/** Preloads a module that disables checkpoints, so that the tail grows. */
const KEPT = ['--import', import.meta.resolve('./never-stored.ts')];

/** Result of a kill: unflushed records, journal content, and latencies that callers see. */
type Round = Killed & {
  readonly unflushed: number;
  readonly stored: StoredTail;
  readonly recovered: number;
};

/** Results of all kills with the same tail length. */
type Measured = { readonly tail: Tail; readonly rounds: readonly Round[] };

type Scene = {
  readonly fleet: EngineFleet;
  readonly owners: StoredOwners;
  readonly instances: ObservedInstances;
  readonly print: (line: string) => void;
};

/** Time until the shards of a killed engine answer, by tail length. */
export const takeover: Part = {
  name: 'takeover',
  group: 'fail-over',
  isLong: true,
  title: 'Takeover from a killed engine, one of three',
  about:
    'The tail consists of the journal records without a checkpoint. Times begin with the kill.',
  needs: ['cassandra'],
  async measure({ isQuick, print }) {
    const folder = temporaryFolder();
    await using service = await startDurable({ engines: ENGINES, folder, print });
    await using owners = await openStoredOwners(service, SHARDS);
    using instances = new ObservedInstances(service, print);
    const fleet = new EngineFleet(service);
    await fleet.untilBalanced(print);
    await instances.create(isQuick ? INSTANCES_QUICK : INSTANCES);
    const tails: Measured[] = [];
    let kills = 0;
    for (const tail of isQuick ? TAILS_QUICK : TAILS) {
      const rounds: Round[] = [];
      while (rounds.length < tail.times) {
        const scene = { fleet, owners, instances, print };
        if (kills > 0) await startAgain(scene, (kills - 1) % ENGINES);
        await untilStoredIn({ isQuick, print }, service.metricsUrls);
        await keepFromStoring(scene, kills % ENGINES);
        rounds.push(await measureKill(scene, kills % ENGINES, tail));
        kills += 1;
      }
      tails.push({ tail, rounds });
    }
    return findingsOf(tails);
  },
};

/** Restarts an engine with checkpoints disabled until a clean stop. */
async function keepFromStoring(scene: Scene, number: number): Promise<void> {
  const child = scene.fleet.engines[number]?.child;
  child?.kill('SIGTERM');
  await child?.ended();
  await startAgain(scene, number, KEPT);
}

/** Starts an ended engine again, and waits until shards are spread evenly. */
async function startAgain(
  { fleet, print }: Scene,
  number: number,
  nodeArgs?: readonly string[],
): Promise<void> {
  await fleet.startAgain(number, nodeArgs);
  await fleet.untilBalanced(print);
}

/**
 * Grows a tail, kills the engine, and proves that no observation is lost. Requires that everything
 * is stored.
 */
async function measureKill(scene: Scene, number: number, tail: Tail): Promise<Round> {
  const { fleet, owners, instances, print } = scene;
  const victim = fleet.engines[number];
  if (victim === undefined) throw new Error(`engine ${number} does not exist`);
  const others = fleet.engines.filter((engine) => engine !== victim);
  const survivors = others.map(({ url }) => url);
  const ofOthers = await Promise.all(others.map((other) => instancesOf(other, scene)));
  const { incarnation, groups } = await instancesOf(victim, scene);
  const all = groups.flat();
  const unflushed = await growTail(instances, all, victim, tail);
  print(`${victim.child.name}: ${unflushed} records of ${all.length} instances have no checkpoint`);
  const before = await metricsOf(survivors);
  const killed = await killEngine({
    victim: victim.child,
    survivors,
    instances,
    waiting: groups.map(([first = 0]) => first),
    bystanders: ofOthers.map((other) => other.groups[0]?.[0] ?? 0),
  });
  const after = await metricsOf(survivors);
  const recovered = sumOf(after, RECOVERED) - sumOf(before, RECOVERED);
  const stored = await owners.tailOf(incarnation);
  const round = { ...killed, unflushed, recovered, stored };
  print(lineOf(round));
  print(`  statements to the store: ${storeWorkBetween(storeWorkIn(before), storeWorkIn(after))}`);
  for (const { child } of others) printNotices(child.name, child.output, killed.atMs, print);
  await instances.prove(all);
  return round;
}

/** Instances in an engine's shards, grouped by shard. */
async function instancesOf({ address }: Engine, { owners, instances }: Scene) {
  const { incarnation, shards } = await owners.shardsAt(address);
  const numbers = Array.from(instances.ids.keys());
  const byShard = Map.groupBy(numbers, (i) => shardOf(instances.ids[i] ?? '', SHARDS));
  const groups = [...byShard].filter(([shard]) => shards.has(shard)).map(([, group]) => group);
  return { incarnation, groups };
}

/** Observes an engine's instances in turn until `records` are unflushed. */
async function growTail(
  instances: ObservedInstances,
  all: readonly number[],
  { url }: Engine,
  { records }: Tail,
): Promise<number> {
  for (let left = records; left > 0; left -= all.length) {
    await instances.observeEach(all.slice(0, left));
  }
  return await unflushedRecords([url]);
}

/** Prints a surviving engine's log lines with their delay after the kill. */
function printNotices(
  name: string,
  output: string,
  sinceMs: number,
  print: (line: string) => void,
): void {
  for (const [, time = '', message = ''] of output.matchAll(/"time":"([^"]*)".*"msg":"([^"]*)"/g)) {
    const atMs = Date.parse(time) - sinceMs;
    if (atMs >= 0) print(`  ${name} after ${atMs} ms: ${message}`);
  }
}

function lineOf({ unflushed, stored, recovered, ownedMs, answeredMs, bystanderMs }: Round): string {
  const { p50, p99, longest } = latenciesOf(answeredMs);
  const [owned, middle, high, last, other] = [ownedMs, p50, p99, longest, bystanderMs].map(
    (ms) => `${ms.toFixed(0)} ms`,
  );
  const tail = `${unflushed} unflushed, ${recovered} recovered of ${stored.slots} slots with ${mebibytes(stored.bytes, 1)}`;
  return `${tail}: owned ${owned}, answered p50 ${middle}, p99 ${high}, last ${last}, others waited ${other}`;
}

/** A target for each tail, and a table with a column for each tail. */
function findingsOf(tails: readonly Measured[]): Findings {
  const over = (read: (round: Round) => number) => {
    return ({ rounds }: Measured): Quantity => rounded(spreadOf(rounds.map(read)));
  };
  const latency = (round: Round) => latenciesOf(round.answeredMs);
  const titleOf = ({ tail }: Measured) => `tail of ${tail.records.toLocaleString('en')}`;
  const rows: readonly [string, (measured: Measured) => Quantity][] = [
    ['records that the new owners recovered', over((round) => round.recovered)],
    ['size of the journal, KiB', over((round) => round.stored.bytes / 1_024)],
    ['time until every shard has a new owner, ms', over((round) => round.ownedMs)],
    [
      'time until a shard answers again: p50 of the shards, ms',
      over((round) => latency(round).p50),
    ],
    [
      'time until a shard answers again: p99 of the shards, ms',
      over((round) => latency(round).p99),
    ],
    ['longest latency at the other engines, ms', over((round) => round.bystanderMs)],
  ];
  return {
    figures: tails.map((measured) => {
      const times = measured.rounds.map((round) => latency(round).longest);
      const most = measured.tail.answeredMsMax;
      return {
        what: `time until the last shard answers again, ${titleOf(measured)}`,
        target: `≤ ${most.toLocaleString('en')} ms`,
        reached: `${spreadText(spreadOf(times), 0)} ms`,
        isMet: times.every((ms) => ms <= most),
      };
    }),
    tables: [
      {
        name: '',
        columns: tails.map((measured) => ({ name: titleOf(measured) })),
        rows: rows.map(([name, read]) => ({ name, cells: tails.map(read) })),
      },
    ],
  };
}
