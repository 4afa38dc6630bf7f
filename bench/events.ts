/**
 * Cost of open event streams: observation throughput of two services, one of which has 1,000 idle
 * streams, and memory per stream. A run without `--quick` replaces the section "Open event streams"
 * in bench/AGAINST.md.
 *
 *   node bench/events.ts [--quick]
 */
import { parseArgs } from 'node:util';
import { runWrk } from '#bench/load/wrk';
import { Inspector } from '#bench/measures/inspector';
import { describeRun } from '#bench/measures/machine';
import { numberText, quartilesOf, quartilesText } from '#bench/measures/statistics';
import { type Followable, followables, openStreams } from '#bench/processes/event-readers';
import { prepareService, type Server } from '#bench/processes/servers';
import {
  type AdministeredService,
  startStandalone,
  startThreeProcesses,
} from '#bench/processes/service';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { findWrk } from '#bench/processes/tool-path';
import { AGAINST_PAGE, keepSection, reportSection } from '#bench/report-page';
import { tableOf, verdict } from '#bench/report-table';

/** Number of idle streams. Source: the project's target. */
const STREAMS = 1_000;

/** Number of connections that load a service. */
const CONNECTIONS = 64;

/** Minimum median of the ratios of requests per second. Source: the project's target. */
const RATIO_MIN = 0.95;

/** Maximum memory of one stream, in bytes. Source: the project's target. */
const STREAM_BYTES_MAX = 20 * 1_024;

/** Long limiter timeout: a slow answer on a busy machine is not an outage. */
const PATIENT = { SERVICE_LIMITER_TIMEOUT_MS: '5000' };

const FULL = { pairs: 12, seconds: 1, warmUpS: 2 };
const QUICK = { pairs: 2, seconds: 1, warmUpS: 1 };

const startedMs = performance.now();

function print(line: string): void {
  const s = ((performance.now() - startedMs) / 1_000).toFixed(0);
  process.stderr.write(`${s.padStart(4)} s  ${line}\n`);
}

/** A service under load, and the instances that streams follow. */
type Scene = { readonly server: Server; readonly followed: readonly Followable[] };

async function sceneOf(service: AdministeredService): Promise<Scene> {
  const server = await prepareService('s', service, temporaryFolder(), { print });
  return { server, followed: await followables(service.address, service.adminPort, STREAMS) };
}

/**
 * Effect of streams: requests per second and CPU per request, relative to a run without streams.
 */
type Ratio = { readonly rate: number; readonly cpu: number };

/** Measures requests per second and CPU time per request. */
async function runOn(wrk: string, server: Server, seconds: number) {
  const { requestsPerS, cpu, problem } = await runWrk(wrk, server, {
    connections: CONNECTIONS,
    seconds,
  });
  if (problem !== undefined) throw new Error(`a run is void: ${problem}`);
  const own = cpu.filter(({ process: name }) => name !== 'wrk');
  const micros = own.reduce((sum, { microsPerRequest }) => sum + microsPerRequest, 0);
  return { requestsPerS, micros };
}

/** Ratios of a run with streams to a run without streams, in either order. */
async function pairOf(
  wrk: string,
  [busy, plain]: readonly [Scene, Scene],
  isBusyFirst: boolean,
  seconds: number,
): Promise<Ratio> {
  const first = await runOn(wrk, (isBusyFirst ? busy : plain).server, seconds);
  const second = await runOn(wrk, (isBusyFirst ? plain : busy).server, seconds);
  const [loaded, unloaded] = isBusyFirst ? [first, second] : [second, first];
  const rate = loaded.requestsPerS / unloaded.requestsPerS;
  const cpu = loaded.micros / unloaded.micros;
  print(`${numberText(rate, 3)}, CPU ${numberText(cpu, 3)}`);
  return { rate, cpu };
}

/** Ratios of all pairs. Each service holds the streams in half of the pairs. */
async function ratiosOf(
  wrk: string,
  [first, second]: readonly [Scene, Scene],
  { pairs, seconds, warmUpS }: typeof FULL,
): Promise<Ratio[]> {
  const ratios: Ratio[] = [];
  for (const scenes of [[first, second] as const, [second, first] as const]) {
    const [busy] = scenes;
    using streams = await openStreams(busy.server.address, busy.followed);
    // Opening the streams leaves garbage. The warm-up makes Node collect it before the measured runs.
    for (const { server } of scenes) await runOn(wrk, server, warmUpS);
    for (let pair = 0; pair < pairs / 2; pair += 1) {
      ratios.push(await pairOf(wrk, scenes, pair % 2 === 0, seconds));
    }
    if (streams.ended > 0) throw new Error(`${streams.ended} streams ended`);
  }
  return ratios;
}

/** Live and resident bytes per stream in edge and engine, after garbage collection. */
async function bytesOfStream(
  inspector: Inspector,
  address: string,
  followed: readonly Followable[],
): Promise<{ live: number; resident: number }> {
  const before = await inspector.memoryAfterCollection();
  using _streams = await openStreams(address, followed);
  const after = await inspector.memoryAfterCollection();
  return {
    live: (after.liveBytes - before.liveBytes) / STREAMS,
    resident: (after.residentBytes - before.residentBytes) / STREAMS,
  };
}

function rowOf(what: string, ratios: readonly Ratio[]): string[] {
  const rates = ratios.map(({ rate }) => rate);
  const costs = ratios.map(({ cpu }) => cpu);
  const isMet = quartilesOf(rates)[1] >= RATIO_MIN;
  const cells = [rates, costs].map((values) => quartilesText(values, 3));
  return [what, `${ratios.length}`, ...cells, verdict(isMet)];
}

async function measured(wrk: string, size: typeof FULL): Promise<string[]> {
  const rows: string[][] = [];
  let bytes = { live: Number.NaN, resident: Number.NaN };
  {
    await using service = await startStandalone(['--inspect=127.0.0.1:0']);
    using inspector = await Inspector.connect(service.process);
    const followed = await followables(service.address, service.adminPort, STREAMS);
    bytes = await bytesOfStream(inspector, service.address, followed);
  }
  {
    await using service = await startStandalone();
    await using other = await startStandalone();
    const scenes = [await sceneOf(service), await sceneOf(other)] as const;
    rows.push(rowOf('standalone', await ratiosOf(wrk, scenes, size)));
  }
  {
    await using service = await startThreeProcesses(undefined, PATIENT);
    await using other = await startThreeProcesses(undefined, PATIENT);
    const scenes = [await sceneOf(service), await sceneOf(other)] as const;
    rows.push(rowOf('edge + limiter + engine', await ratiosOf(wrk, scenes, size)));
  }
  const ratio = `requests/s with ${STREAMS} idle streams, ratio`;
  const held = `${numberText(bytes.live, 0)} live, ${numberText(bytes.resident, 0)} resident`;
  return [
    tableOf(['', 'pairs', ratio, 'CPU per request, ratio', `median ≥ ${RATIO_MIN}`], rows),
    tableOf(
      ['', 'bytes', 'live ≤ 20 KiB'],
      [['an open stream, standalone', held, verdict(bytes.live <= STREAM_BYTES_MAX)]],
    ),
  ];
}

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const wrk = await findWrk();
const circumstances = await describeRun({ wrk });
const tables = await measured(wrk, values.quick ? QUICK : FULL);
const about =
  'Two services take turns under load from 64 connections. In the first half of the pairs, the ' +
  'first service also has 1,000 open idle streams of other accounts. In the second half, the second ' +
  'service has these streams. A ratio is the value with streams divided by the value without ' +
  'streams.';
const heading = {
  title: 'Open event streams',
  about,
  command: 'node bench/events.ts',
  circumstances,
};
const text = reportSection(heading, tables);
process.stdout.write(`${text}\n`);
if (!values.quick) await keepSection(AGAINST_PAGE, text);
