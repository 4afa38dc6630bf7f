import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { FLEET_OBSERVATIONS, FleetLoad, headersOf } from '#bench/load/fleet-load';
import type { FleetSender, SenderOrder } from '#bench/load/fleet-sender';
import { runWrk } from '#bench/load/wrk';
import { cpuMicros } from '#bench/measures/cpu-time';
import { spreadOf } from '#bench/measures/statistics';
import { microsOf, ratioFigure, rounded } from '#bench/page/comparison';
import type { Figure, Findings, Part, Quantity, Run } from '#bench/page/part';
import { startOnFile } from '#bench/processes/file-service';
import { prepareService, type Server } from '#bench/processes/servers';
import {
  type AdministeredService,
  createKey,
  startStandalone,
  startThreeProcesses,
} from '#bench/processes/service';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { findWrk } from '#bench/processes/tool-path';
import { latenciesOf } from '#bench/scale/rates/latencies';

/** Connections of single calls. */
const CONNECTIONS = 64;

/** Time between two single calls of the other account, in milliseconds. */
const PAUSE_MS = 4;

/** Interval of fleet calls beside the other account, in milliseconds. */
const BESIDE_MS = 1_000;

/** Minimum median of observations per second and core, relative to single calls. */
const RATIO_MIN = { memory: 5, durable: 3 };

/** Maximum median of the other account's p99, relative to its p99 without fleet calls. */
const P99_RATIO_MAX = 1.2;

const FULL = { pairs: 10, seconds: 2, besideS: 5 };
const QUICK = { pairs: 1, seconds: 1, besideS: 1 };

/** A service with instances, which single calls and fleet calls observe in turn. */
type Scene = {
  readonly service: AdministeredService;
  readonly server: Server;
  readonly fleet: FleetLoad;
};

async function sceneOf(
  service: AdministeredService,
  print: (line: string) => void,
): Promise<Scene> {
  const server = await prepareService('s', service, temporaryFolder(), { print });
  return { service, server, fleet: await FleetLoad.create(service) };
}

/** CPU time of the service per observation in single calls, in µs. */
async function singleCost(wrk: string, { server }: Scene, seconds: number): Promise<number> {
  const run = await runWrk(wrk, server, { connections: CONNECTIONS, seconds });
  if (run.problem !== undefined) throw new Error(`a run is void: ${run.problem.text}`);
  return microsOf(run, (name) => name !== 'wrk');
}

/** CPU time of the service per observation in fleet calls, in µs. */
async function fleetCost({ server, fleet }: Scene, seconds: number): Promise<number> {
  const cpu = async () => {
    const each = await Promise.all(server.processes.map(({ pid }) => cpuMicros(pid)));
    return each.reduce((sum, micros) => sum + micros, 0);
  };
  const before = await cpu();
  const beganMs = performance.now();
  let sent = 0;
  while (performance.now() < beganMs + seconds * 1_000) {
    sent += await fleet.send();
  }
  return ((await cpu()) - before) / sent;
}

/**
 * p99 of single calls of another account, in milliseconds. Each call is due at a fixed time, and its
 * latency counts from this time, also if an earlier call is late.
 */
async function otherP99(
  address: string,
  other: { readonly key: string; readonly id: string },
  seconds: number,
): Promise<number> {
  const url = `${address}/v1/instances/${other.id}/snapshot`;
  const headers = headersOf(other.key);
  const beganMs = performance.now();
  const count = (seconds * 1_000) / PAUSE_MS;
  const times = Array.from({ length: count }, async (_, at) => {
    const dueMs = beganMs + at * PAUSE_MS;
    await pause(Math.max(0, dueMs - performance.now()));
    await (await fetch(url, { headers })).json();
    return performance.now() - dueMs;
  });
  return latenciesOf(await Promise.all(times)).p99;
}

/** Ratios of p99 with fleet calls to p99 without, and the values, in milliseconds. */
async function besideFleets(
  scene: Scene,
  { pairs, besideS }: typeof FULL,
  print: (line: string) => void,
) {
  const { service } = scene;
  const { address, key: ownKey } = service;
  const own = { address, key: ownKey };
  const key = await createKey(service.adminPort);
  const created = await fetch(`${service.address}/v1/instances`, {
    ...{ method: 'POST', headers: headersOf(key), body: '{"name":"other"}' },
  });
  const { data } = (await created.json()) as { readonly data: { readonly id: string } };
  const other = { key, id: data.id };
  const workerData: FleetSender = { ...own, intervalMs: BESIDE_MS };
  const sender = new Worker(new URL('../load/fleet-sender.ts', import.meta.url), { workerData });
  await once(sender, 'message');
  const order = (wanted: SenderOrder) => sender.postMessage(wanted);
  const ratios: number[] = [];
  const [quiet, busy]: [number[], number[]] = [[], []];
  for (let pair = 0; pair < pairs / 2; pair += 1) {
    const alone = await otherP99(service.address, other, besideS);
    order('resume');
    const beside = await otherP99(service.address, other, besideS);
    order('pause');
    print(`p99 ${alone.toFixed(2)} ms alone, ${beside.toFixed(2)} ms beside fleet calls`);
    quiet.push(alone);
    busy.push(beside);
    ratios.push(beside / alone);
  }
  await sender.terminate();
  return { ratios, quiet, busy };
}

async function measured(wrk: string, { isQuick, print }: Run): Promise<Findings> {
  const size = isQuick ? QUICK : FULL;
  const figures: Figure[] = [];
  const costs: { name: string; cells: Quantity[] }[] = [];
  const latencies: { name: string; cells: Quantity[] }[] = [];
  const topologies = [
    ['standalone in memory', RATIO_MIN.memory, () => startStandalone()],
    [
      'standalone on a SQLite file',
      RATIO_MIN.durable,
      () => startOnFile(join(temporaryFolder(), 'fleet.db')),
    ],
    ['edge + limiter + engine in memory', RATIO_MIN.memory, () => startThreeProcesses()],
  ] as const;
  for (const [name, least, start] of topologies) {
    await using service = await start();
    const scene = await sceneOf(service, print);
    const { single, fleet } = await costsOf(wrk, scene, size, (line) => print(`${name}: ${line}`));
    const ratios = single.map((micros, index) => micros / (fleet[index] ?? Number.NaN));
    const what = `fleet / single calls, observations per core-second, ${name}`;
    figures.push(ratioFigure(what, ratios, { least }));
    costs.push({ name, cells: [rounded(spreadOf(single)), rounded(spreadOf(fleet))] });
    const { ratios: slower, quiet, busy } = await besideFleets(scene, size, print);
    const beside = `beside / without fleet calls, p99 of another account, ${name}`;
    figures.push(ratioFigure(beside, slower, { most: P99_RATIO_MAX }));
    latencies.push({ name, cells: [rounded(spreadOf(quiet)), rounded(spreadOf(busy))] });
  }
  const columnsOf = (names: readonly string[], decimals: number) =>
    names.map((name) => ({ name, decimals }));
  return {
    figures,
    tables: [
      {
        name: 'CPU of an observation, µs',
        columns: columnsOf(['single calls', 'fleet calls'], 1),
        rows: costs,
      },
      {
        name: 'p99 of another account, ms',
        columns: columnsOf(['without fleet calls', 'beside fleet calls'], 2),
        rows: latencies,
      },
    ],
  };
}

/** CPU of an observation in single calls and in fleet calls, in µs, a value for each pair. */
async function costsOf(
  wrk: string,
  scene: Scene,
  { pairs, seconds }: typeof FULL,
  print: (line: string) => void,
): Promise<{ readonly single: number[]; readonly fleet: number[] }> {
  const [single, fleet]: [number[], number[]] = [[], []];
  for (let pair = -1; pair < pairs; pair += 1) {
    const isFleetFirst = pair % 2 === 0;
    const early = isFleetFirst ? await fleetCost(scene, seconds) : undefined;
    const alone = await singleCost(wrk, scene, seconds);
    const together = early ?? (await fleetCost(scene, seconds));
    print(`${alone.toFixed(1)} µs alone, ${together.toFixed(1)} µs in a fleet`);
    // The first pair warms the processes up.
    if (pair < 0) continue;
    single.push(alone);
    fleet.push(together);
  }
  return { single, fleet };
}

/** Cost of an observation in fleet calls, compared with single calls to the same service. */
export const fleet: Part = {
  name: 'fleet',
  group: 'features',
  isLong: true,
  title: 'Fleet calls',
  about:
    `Single calls from ${CONNECTIONS} connections take turns with fleet calls of ` +
    `${FLEET_OBSERVATIONS.toLocaleString('en')} observations, one instance each, one call after the ` +
    'other, on the same service. Observations have no idempotency keys. CPU is the time of all ' +
    'processes of the service. In the second table, another account reads a snapshot every ' +
    `${PAUSE_MS} ms, alone or beside one fleet call a second from another thread. Latency counts ` +
    'from the time at which a call is due. Ratios are quartiles of the pairs.',
  missed:
    'A fleet call saves HTTP, the limiter and whole answers. Each observation still has its own ' +
    'parsing, turn, cycle of the model, row and result. Half of the remaining cost is the turn with ' +
    'the model, a sixth is parsing and checking. The edge parses the body in one piece of 1.3 ms, and ' +
    'an engine answers up to 64 observations of a frame in one piece. The other steps share the event ' +
    'loop in slices of half a millisecond.',
  needs: ['wrk'],
  measure: async (run) => measured(await findWrk(), run),
};
