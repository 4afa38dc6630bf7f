import { join } from 'node:path';
import { parseApiKey } from '#accounts/api-key';
import { type DurableService, type DurableStores, startDurable } from '#bench/durable/service';
import { ObservationPlan } from '#bench/load/observation-plan';
import { type ClosedResult, runWrk, runWrkInTime } from '#bench/load/wrk';
import { metricsOf, sumOf } from '#bench/measures/cycle-count';
import { activeInstances, untilStored } from '#bench/measures/gauges';
import type { Server } from '#bench/processes/servers';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { withProgress } from '#bench/progress';
import { seededId, seededStrengths, seedInstances } from '#bench/scale/seed';
import { sessionIn } from '#test/storage/cassandra/migrated-keyspace';

/** Number of connections of the load: the smaller number of the durable comparison. */
const CONNECTIONS = 64;

/** Maximum number of instances that the load observes. */
const ADDRESSED_MAX = 100_000;

/** Number of instances for the cold measurement: more than the load reaches in its duration. */
const COLD_MAX = 100_000;

/** Seconds of load before and during a cell's measurement. */
export type CellTimes = {
  readonly leadInS: number;
  readonly measuredS: number;
  /** Whether to wait until all records have checkpoints, so that the next cell is undisturbed. */
  readonly isDrained: boolean;
};

/** A keyspace with seeded instances of one account, and the observation plans of the load. */
export type SeededKeyspace = {
  readonly known: number;
  readonly keyspace: string;
  readonly plan: ObservationPlan;
  /** Plan for instances that are not in memory; undefined if the load observes all instances. */
  readonly cold: ObservationPlan | undefined;
};

/** Results for a number of engines and a number of known instances. */
export type Cell = {
  readonly engines: number;
  readonly known: number;
  readonly result: ClosedResult;
  readonly recordsPerGroup: number;
  readonly appendMs: number;
  /** Number of instances in memory after the measurement. */
  readonly active: number;
  /** Result if every observation activates its instance first. */
  readonly whenCold: ClosedResult | undefined;
};

/** Parameters common to all cells. */
export type GrowthBench = {
  readonly wrk: string;
  readonly stores: DurableStores;
  readonly print: (line: string) => void;
};

/** Creates a keyspace in which an account has `known` instances, none in memory. */
export async function openKeyspace(bench: GrowthBench, known: number): Promise<SeededKeyspace> {
  const { print, stores } = bench;
  const keyspace = `known_${known}`;
  await using service = await startOn(bench, keyspace, 1);
  await using session = await sessionIn(stores.cassandra.address, keyspace);
  const accountIds = [parseApiKey(service.key)?.accountId ?? ''];
  // Not listed: observations do not read the listing.
  await seedInstances({ session, count: known, accountIds, isListed: false, print });
  return keyspacePlans(known, keyspace, service.key);
}

/** Observation plans of a seeded keyspace. */
async function keyspacePlans(
  known: number,
  keyspace: string,
  key: string,
): Promise<SeededKeyspace> {
  const folder = temporaryFolder();
  const addressed = Math.min(known, ADDRESSED_MAX);
  const stride = Math.floor(known / addressed);
  const planOf = (name: string, count: number, offset: number) => {
    const instances = Array.from({ length: count }, (_, nth) => {
      const index = nth * stride + offset;
      return { id: seededId(index), modeStrengths: seededStrengths(index) };
    });
    return ObservationPlan.write({ instances, key, folder, name });
  };
  const plan = await planOf(keyspace, addressed, 0);
  const hasColdInstances = stride > 1;
  const cold = hasColdInstances ? await planOf(`${keyspace}_cold`, COLD_MAX, 1) : undefined;
  return { known, keyspace, plan, cold };
}

/** Starts the engines on a keyspace, loads them, and measures. */
export async function measureCell(
  bench: GrowthBench,
  seeded: SeededKeyspace,
  engines: number,
  { leadInS, measuredS, isDrained }: CellTimes,
): Promise<Cell> {
  const { print } = bench;
  const title = `${engines} engine(s), ${seeded.known} instances`;
  await using service = await startOn(bench, seeded.keyspace, engines);
  const server = serverOf(service, seeded.plan);
  const underLoad = () => `${title}: under load`;
  const load = (to: Server, seconds: number) =>
    withProgress(underLoad, print, () => proven(bench, to, seconds));
  await withProgress(underLoad, print, () => leadIn(bench, server, leadInS));
  const before = await metricsOf(service.metricsUrls);
  const result = await load(server, measuredS);
  const after = await metricsOf(service.metricsUrls);
  const active = await activeInstances(service.metricsUrls);
  const { cold } = seeded;
  const whenCold = cold === undefined ? undefined : await load(serverOf(service, cold), measuredS);
  const grown = (name: string) => sumOf(after, name) - sumOf(before, name);
  const groups = grown('journal_group_records_count');
  const cell: Cell = {
    engines,
    known: seeded.known,
    result,
    recordsPerGroup: grown('journal_group_records_sum') / groups,
    appendMs: (1_000 * grown('journal_append_seconds_sum')) / groups,
    active,
    whenCold,
  };
  print(
    `${title}: ${result.requestsPerS.toFixed(0)} requests/s, p50 ${result.p50Ms.toFixed(1)} ms`,
  );
  if (isDrained) await untilStored(service.metricsUrls, print);
  return cell;
}

function startOn(
  { stores, print }: GrowthBench,
  keyspace: string,
  engines: number,
): Promise<DurableService> {
  const folder = join(temporaryFolder(), keyspace);
  return startDurable({ engines, folder, stores, keyspace, print });
}

function serverOf(service: DurableService, plan: ObservationPlan): Server {
  const { address, processes } = service;
  return { label: 'd', address, processes, plan, service };
}

/**
 * Runs the load, and repeats a run with late observations: with a hundred instances, a delayed
 * connection sends a late observation, which is throttled (interface 8.3). Throws if the last
 * attempt is void too.
 */
async function proven(
  { wrk, print }: GrowthBench,
  server: Server,
  seconds: number,
): Promise<ClosedResult> {
  const result = await runWrkInTime(wrk, server, { connections: CONNECTIONS, seconds }, print);
  const { problem } = result;
  if (problem === undefined) return result;
  const hint = problem.isLate ? ': reduce other load on this machine' : '';
  throw new Error(`${problem.text}${hint}`);
}

/** Runs a load that is not measured. Late observations do not matter; throws on other problems. */
async function leadIn({ wrk }: GrowthBench, server: Server, seconds: number): Promise<void> {
  const { problem } = await runWrk(wrk, server, { connections: CONNECTIONS, seconds });
  if (problem?.isLate === false) throw new Error(problem.text);
}
