/**
 * Cost of an observation in fleet calls of 1,000 observations, compared with single calls to the
 * same service, and latency of another account beside fleet calls. A run without `--quick` replaces
 * the section "Fleet calls" in bench/AGAINST.md.
 *
 *   node bench/fleet.ts [--quick]
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { runWrk } from '#bench/load/wrk';
import { cpuMicros } from '#bench/measures/cpu-time';
import { describeRun } from '#bench/measures/machine';
import { quartilesOf, quartilesText } from '#bench/measures/statistics';
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
import { AGAINST_PAGE, keepSection, reportSection } from '#bench/report-page';
import { tableOf, verdict } from '#bench/report-table';
import { latenciesOf, timed } from '#bench/scale/rates/latencies';

/** Observations of a fleet call: the maximum. */
const OBSERVATIONS = 1_000;

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

const FULL = { pairs: 10, seconds: 3, besideS: 10 };
const QUICK = { pairs: 2, seconds: 1, besideS: 3 };

const startedMs = performance.now();

function print(line: string): void {
  const s = ((performance.now() - startedMs) / 1_000).toFixed(0);
  process.stderr.write(`${s.padStart(4)} s  ${line}\n`);
}

/** A service with instances, which single calls and fleet calls observe in turn. */
type Scene = {
  readonly service: AdministeredService;
  readonly server: Server;
  readonly fleet: FleetLoad;
};

async function sceneOf(service: AdministeredService): Promise<Scene> {
  const server = await prepareService('s', service, temporaryFolder(), { print });
  return { service, server, fleet: await FleetLoad.create(service) };
}

/** Sends fleet calls for its own instances. Each call observes every instance once. */
class FleetLoad {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #ids: readonly string[];
  #second = Math.floor(Date.now() / 1_000) - 10_000_000;

  private constructor(service: AdministeredService, ids: readonly string[]) {
    this.#url = `${service.address}/v1`;
    this.#headers = headersOf(service.key);
    this.#ids = ids;
  }

  static async create(service: AdministeredService): Promise<FleetLoad> {
    const ids: string[] = [];
    const init = { method: 'POST', headers: headersOf(service.key), body: '{"name":"fleet"}' };
    for (let at = 0; at < OBSERVATIONS; at += 1) {
      const answer = await fetch(`${service.address}/v1/instances`, init);
      const { data } = (await answer.json()) as { readonly data: { readonly id: string } };
      ids.push(data.id);
    }
    return new FleetLoad(service, ids);
  }

  /** Sends one call. Throws unless the service applied every observation. */
  async send(): Promise<void> {
    this.#second += 60;
    const timestamp = new Date(this.#second * 1_000).toISOString();
    const observations = this.#ids.map((instance_id, at) => {
      const context = { channel: 'chat', turn: at };
      const signal_strength = (at % 100) / 100;
      return { instance_id, mode_target: 'ORDER', signal_strength, context, timestamp };
    });
    const body = JSON.stringify({ observations });
    const answer = await fetch(`${this.#url}/process`, {
      ...{ method: 'POST', headers: this.#headers, body },
    });
    const { data } = (await answer.json()) as {
      readonly data: { readonly summary: { readonly applied: number } };
    };
    const { applied } = data.summary;
    if (applied !== OBSERVATIONS) throw new Error(`${applied} observations were applied`);
  }
}

function headersOf(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
}

/** Observations per second, and CPU time of the service per observation, in µs. */
type Cost = { readonly rate: number; readonly micros: number };

async function singleCost(wrk: string, { server }: Scene, seconds: number): Promise<Cost> {
  const run = await runWrk(wrk, server, { connections: CONNECTIONS, seconds });
  if (run.problem !== undefined) throw new Error(`a run is void: ${run.problem}`);
  const own = run.cpu.filter(({ process: name }) => name !== 'wrk');
  const micros = own.reduce((sum, { microsPerRequest }) => sum + microsPerRequest, 0);
  return { rate: run.requestsPerS, micros };
}

async function fleetCost({ server, fleet }: Scene, seconds: number): Promise<Cost> {
  const cpu = async () => {
    const each = await Promise.all(server.processes.map(({ pid }) => cpuMicros(pid)));
    return each.reduce((sum, micros) => sum + micros, 0);
  };
  const before = await cpu();
  const beganMs = performance.now();
  let sent = 0;
  while (performance.now() < beganMs + seconds * 1_000) {
    await fleet.send();
    sent += OBSERVATIONS;
  }
  const tookS = (performance.now() - beganMs) / 1_000;
  return { rate: sent / tookS, micros: ((await cpu()) - before) / sent };
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
async function besideFleets(scene: Scene, { pairs, besideS }: typeof FULL) {
  const { service, fleet } = scene;
  const key = await createKey(service.adminPort);
  const created = await fetch(`${service.address}/v1/instances`, {
    ...{ method: 'POST', headers: headersOf(key), body: '{"name":"other"}' },
  });
  const { data } = (await created.json()) as { readonly data: { readonly id: string } };
  const other = { key, id: data.id };
  const ratios: number[] = [];
  const [quiet, busy]: [number[], number[]] = [[], []];
  for (let pair = 0; pair < pairs / 2; pair += 1) {
    const alone = await otherP99(service.address, other, besideS);
    let isOver = false;
    const fleets = (async () => {
      while (!isOver) {
        const { ms } = await timed(() => fleet.send());
        await pause(Math.max(0, BESIDE_MS - ms));
      }
    })();
    const beside = await otherP99(service.address, other, besideS);
    isOver = true;
    await fleets;
    print(`p99 ${alone.toFixed(2)} ms alone, ${beside.toFixed(2)} ms beside fleet calls`);
    quiet.push(alone);
    busy.push(beside);
    ratios.push(beside / alone);
  }
  return { ratios, quiet, busy };
}

async function measured(wrk: string, size: typeof FULL): Promise<string[]> {
  const costs: string[][] = [];
  const others: string[][] = [];
  const topologies = [
    ['standalone in memory', RATIO_MIN.memory, () => startStandalone()],
    [
      'standalone on a SQLite file',
      RATIO_MIN.durable,
      () => startOnFile(join(temporaryFolder(), 'fleet.db')),
    ],
    ['edge + limiter + engine in memory', RATIO_MIN.memory, () => startThreeProcesses()],
  ] as const;
  for (const [name, target, start] of topologies) {
    await using service = await start();
    const scene = await sceneOf(service);
    const ratios: number[] = [];
    const [single, fleet]: [number[], number[]] = [[], []];
    for (let pair = -1; pair < size.pairs; pair += 1) {
      const isFleetFirst = pair % 2 === 0;
      const early = isFleetFirst ? await fleetCost(scene, size.seconds) : undefined;
      const alone = await singleCost(wrk, scene, size.seconds);
      const together = early ?? (await fleetCost(scene, size.seconds));
      print(
        `${name}: ${alone.micros.toFixed(1)} µs alone, ${together.micros.toFixed(1)} µs in a fleet`,
      );
      // The first pair warms the processes up.
      if (pair < 0) continue;
      single.push(alone.micros);
      fleet.push(together.micros);
      ratios.push(alone.micros / together.micros);
    }
    const isMet = quartilesOf(ratios)[1] >= target;
    const cells = [quartilesText(single, 1), quartilesText(fleet, 1), quartilesText(ratios, 2)];
    costs.push([name, `${ratios.length}`, ...cells, `${target}`, verdict(isMet)]);
    const { ratios: slower, quiet, busy } = await besideFleets(scene, size);
    const isFair = quartilesOf(slower)[1] <= P99_RATIO_MAX;
    const latencies = [quartilesText(quiet, 2), quartilesText(busy, 2), quartilesText(slower, 2)];
    others.push([name, `${slower.length}`, ...latencies, verdict(isFair)]);
  }
  return [
    tableOf(
      [
        ...['', 'pairs', 'single calls, µs', 'fleet calls, µs'],
        ...['observations per second and core, ratio', 'target', 'median ≥ target'],
      ],
      costs,
    ),
    tableOf(
      [
        ...['p99 of another account', 'pairs', 'alone, ms', 'beside fleet calls, ms'],
        ...['ratio', `median ≤ ${P99_RATIO_MAX}`],
      ],
      others,
    ),
  ];
}

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const wrk = await findWrk();
const circumstances = await describeRun({ wrk });
const tables = await measured(wrk, values.quick ? QUICK : FULL);
const about =
  `Single calls from ${CONNECTIONS} connections take turns with fleet calls of ${OBSERVATIONS} ` +
  'observations, one instance each, one call after the other, on the same service. Observations ' +
  'have no idempotency keys. µs are CPU time of all processes of the service per observation. In ' +
  `the second table, another account reads a snapshot every ${PAUSE_MS} ms, alone or beside one ` +
  'fleet call a second. Latency counts from the time at which a call is due.';
const heading = { title: 'Fleet calls', about, command: 'node bench/fleet.ts', circumstances };
const text = reportSection(heading, tables);
process.stdout.write(`${text}\n`);
if (!values.quick) await keepSection(AGAINST_PAGE, text);
