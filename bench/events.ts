/**
 * What open streams of events cost: the throughput of observations with 1,000 idle streams and without,
 * in turns on the same service, and the memory of a stream. Every full run replaces bench/EVENTS.md.
 *
 *   node bench/events.ts [--quick]
 */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { type Followable, followables, openStreams } from '#bench/event-readers';
import { Inspector } from '#bench/inspector';
import { describeRun } from '#bench/machine';
import { tableOf, verdict } from '#bench/report-table';
import { prepareService, type Server } from '#bench/servers';
import { type AdministeredService, startStandalone, startThreeProcesses } from '#bench/service';
import { numberText, quartilesOf } from '#bench/statistics';
import { temporaryFolder } from '#bench/temporary-folder';
import { findWrk } from '#bench/tool-path';
import { runWrk } from '#bench/wrk';

const FILE = 'bench/EVENTS.md';

/** Idle streams. Source: the project's target. */
const STREAMS = 1_000;

/** Connections that load the service. */
const CONNECTIONS = 64;

/** The least median ratio of requests a second. Source: the project's target. */
const RATIO_MIN = 0.95;

/** The most that a stream may hold, in bytes. Source: the project's target. */
const STREAM_BYTES_MAX = 20 * 1_024;

/** A busy machine is no limiter that is away. */
const PATIENT = { SERVICE_LIMITER_TIMEOUT_MS: '5000' };

const FULL = { pairs: 6, seconds: 2, warmUpS: 3 };
const QUICK = { pairs: 1, seconds: 1, warmUpS: 1 };

const startedMs = performance.now();

function print(line: string): void {
  const s = ((performance.now() - startedMs) / 1_000).toFixed(0);
  process.stderr.write(`${s.padStart(4)} s  ${line}\n`);
}

/** A service with instances to load and instances to follow. */
type Scene = { readonly server: Server; readonly followed: readonly Followable[] };

async function sceneOf(service: AdministeredService): Promise<Scene> {
  const server = await prepareService('s', service, temporaryFolder(), { print });
  return { server, followed: await followables(service.address, service.adminPort, STREAMS) };
}

/** The ratios of requests a second with streams to those without, one for each pair. */
async function ratiosOf(
  wrk: string,
  { server, followed }: Scene,
  { pairs, seconds, warmUpS }: typeof FULL,
): Promise<number[]> {
  const run = { connections: CONNECTIONS, seconds };
  const rate = async () => {
    const { requestsPerS, problem } = await runWrk(wrk, server, run);
    if (problem !== undefined) throw new Error(`a run is void: ${problem}`);
    return requestsPerS;
  };
  const rateWith = async () => {
    using streams = await openStreams(server.address, followed);
    const requestsPerS = await rate();
    if (streams.ended > 0) throw new Error(`${streams.ended} streams ended`);
    return requestsPerS;
  };
  await runWrk(wrk, server, { ...run, seconds: warmUpS });
  const ratios: number[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    const first = pair % 2 === 0 ? await rateWith() : await rate();
    const second = pair % 2 === 0 ? await rate() : await rateWith();
    ratios.push(pair % 2 === 0 ? first / second : second / first);
    print(`pair ${pair + 1} of ${pairs}: ${numberText(ratios.at(-1) ?? Number.NaN, 3)}`);
  }
  return ratios;
}

/** Live and resident bytes of a stream, edge and engine together, all garbage collected. */
async function bytesOfStream(
  inspector: Inspector,
  { server, followed }: Scene,
): Promise<{ live: number; resident: number }> {
  const before = await inspector.memoryAfterCollection();
  using _streams = await openStreams(server.address, followed);
  const after = await inspector.memoryAfterCollection();
  return {
    live: (after.liveBytes - before.liveBytes) / STREAMS,
    resident: (after.residentBytes - before.residentBytes) / STREAMS,
  };
}

function rowOf(what: string, ratios: readonly number[]): string[] {
  const [low, median, high] = quartilesOf(ratios);
  const shown = [low, median, high].map((ratio) => numberText(ratio, 3)).join(' / ');
  return [what, `${ratios.length}`, shown, verdict(median >= RATIO_MIN)];
}

async function measured(wrk: string, size: typeof FULL): Promise<string[]> {
  const rows: string[][] = [];
  let bytes = { live: Number.NaN, resident: Number.NaN };
  {
    await using service = await startStandalone(['--inspect=127.0.0.1:0']);
    using inspector = await Inspector.connect(service.process);
    const scene = await sceneOf(service);
    rows.push(rowOf('standalone', await ratiosOf(wrk, scene, size)));
    bytes = await bytesOfStream(inspector, scene);
  }
  {
    await using service = await startThreeProcesses(undefined, PATIENT);
    const scene = await sceneOf(service);
    rows.push(rowOf('edge + limiter + engine', await ratiosOf(wrk, scene, size)));
  }
  const ratio = `requests/s with ${STREAMS} idle streams to without (25 / 50 / 75 %)`;
  const held = `${numberText(bytes.live, 0)} live, ${numberText(bytes.resident, 0)} resident`;
  return [
    tableOf(['', 'pairs', ratio, `median ≥ ${RATIO_MIN}`], rows),
    tableOf(
      ['', 'bytes', 'live ≤ 20 KiB'],
      [['one open stream, standalone', held, verdict(bytes.live <= STREAM_BYTES_MAX)]],
    ),
  ];
}

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const wrk = await findWrk();
const circumstances = await describeRun({
  wrk,
  k6: undefined,
  postgres: undefined,
  redis: undefined,
});
const tables = await measured(wrk, values.quick ? QUICK : FULL);
const text = [
  '# What open streams of events cost',
  'Written by the measurement itself; every run replaces it. One service is loaded by 64 connections in ' +
    'turns with 1,000 idle streams open and without, in changing order; the streams are of other accounts ' +
    'and instances, and read by the process that measures.',
  '    node bench/events.ts',
  tableOf(
    ['', ''],
    circumstances.map(({ name, value }) => [name, value]),
  ),
  ...tables,
].join('\n\n');
process.stdout.write(`${text}\n`);
if (!values.quick) await writeFile(FILE, `${text}\n`);
