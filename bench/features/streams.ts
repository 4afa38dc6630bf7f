import { ratiosOfPairs } from '#bench/load/pairs';
import { runWrk } from '#bench/load/wrk';
import { Inspector } from '#bench/measures/inspector';
import { numberText, quartilesText } from '#bench/measures/statistics';
import { ratioFigure } from '#bench/page/comparison';
import { atMost, type Figure, type Findings, figure, type Part, type Run } from '#bench/page/part';
import { type Followable, followables, openStreams } from '#bench/processes/event-readers';
import { prepareService, type Server } from '#bench/processes/servers';
import {
  type AdministeredService,
  startStandalone,
  startThreeProcesses,
} from '#bench/processes/service';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { findWrk } from '#bench/processes/tool-path';

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

/** A service under load, and the instances that streams follow. */
type Scene = { readonly server: Server; readonly followed: readonly Followable[] };

async function sceneOf(
  service: AdministeredService,
  print: (line: string) => void,
): Promise<Scene> {
  const server = await prepareService('s', service, temporaryFolder(), { print });
  return { server, followed: await followables(service.address, service.adminPort, STREAMS) };
}

/** Ratios of all pairs. Each service holds the streams in half of the pairs. */
async function ratiosOf(
  wrk: string,
  [first, second]: readonly [Scene, Scene],
  { pairs, seconds, warmUpS }: typeof FULL,
  print: (line: string) => void,
): Promise<{ readonly rates: number[]; readonly costs: number[] }> {
  const [rates, costs]: [number[], number[]] = [[], []];
  for (const [busy, plain] of [[first, second] as const, [second, first] as const]) {
    using streams = await openStreams(busy.server.address, busy.followed);
    const servers = [busy.server, plain.server] as const;
    // Opening the streams leaves garbage. The warm-up makes Node collect it before the measured runs.
    for (const server of servers) {
      const { problem } = await runWrk(wrk, server, { connections: CONNECTIONS, seconds: warmUpS });
      if (problem !== undefined) throw new Error(`a run is void: ${problem.text}`);
    }
    const run = { pairs: pairs / 2, connections: CONNECTIONS, seconds };
    const found = await ratiosOfPairs(wrk, servers, run);
    print(`rates ${quartilesText(found.rates, 3)}, CPU ${quartilesText(found.costs, 3)}`);
    rates.push(...found.rates);
    costs.push(...found.costs);
    if (streams.ended > 0) throw new Error(`${streams.ended} streams ended`);
  }
  return { rates, costs };
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

async function measured(wrk: string, { isQuick, print }: Run): Promise<Findings> {
  const size = isQuick ? QUICK : FULL;
  let bytes = { live: Number.NaN, resident: Number.NaN };
  {
    await using service = await startStandalone(['--inspect=127.0.0.1:0']);
    using inspector = await Inspector.connect(service.process);
    const followed = await followables(service.address, service.adminPort, STREAMS);
    bytes = await bytesOfStream(inspector, service.address, followed);
  }
  const figures: Figure[] = [
    atMost('live memory of an open stream', bytes.live, STREAM_BYTES_MAX, 'bytes'),
    figure('resident memory of an open stream', `${numberText(bytes.resident, 0)} bytes`),
  ];
  for (const [title, start] of [
    ['standalone', () => startStandalone()],
    ['edge + limiter + engine', () => startThreeProcesses(undefined, PATIENT)],
  ] as const) {
    await using service = await start();
    await using other = await start();
    const scenes = [await sceneOf(service, print), await sceneOf(other, print)] as const;
    const { rates, costs } = await ratiosOf(wrk, scenes, size, print);
    const what = `with / without ${STREAMS.toLocaleString('en')} idle streams, ${title}`;
    figures.push(ratioFigure(`${what}: requests/s`, rates, { least: RATIO_MIN }));
    figures.push(ratioFigure(`${what}: CPU per request`, costs, {}));
  }
  return { figures };
}

/** Cost of open event streams: throughput beside 1,000 idle streams, and memory per stream. */
export const streams: Part = {
  name: 'streams',
  group: 'features',
  isLong: true,
  title: 'Open event streams',
  about:
    'Two services take turns under load from 64 connections. In the first half of the pairs, the ' +
    'first service also has 1,000 open idle streams of other accounts. In the second half, the ' +
    'second service has these streams. A cell has the quartiles of the pairs.',
  needs: ['wrk'],
  measure: async (run) => measured(await findWrk(), run),
};
