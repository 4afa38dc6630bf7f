/**
 * Compares the throughput of this checkout with the throughput of another commit. Both services run
 * at the same time and take turns every two seconds, so that other work on the machine slows both.
 * Each service starts several times. The result is the median of the pairwise ratios. A full run
 * replaces its section in bench/AGAINST.md. `--traces 0.01` makes this checkout trace 1 % of the
 * requests.
 *
 *   node bench/against.ts <commit> [--quick] [--traces 0.01]
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { CONNECTIONS } from '#bench/load/closed-rounds';
import { type ClosedResult, runWrk } from '#bench/load/wrk';
import { describeRun } from '#bench/measures/machine';
import { quartilesOf, quartilesText } from '#bench/measures/statistics';
import { prepareService, type Server } from '#bench/processes/servers';
import { MAIN, type Service, startStandalone, startThreeProcesses } from '#bench/processes/service';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { findWrk } from '#bench/processes/tool-path';
import { AGAINST_PAGE, keepSection, reportSection } from '#bench/report-page';
import { tableOf, verdict } from '#bench/report-table';

/** Trace collector that discards everything it receives. */
type Collector = AsyncDisposable & {
  readonly endpoint: string;
  /** Bytes received so far. */
  readonly bytes: () => number;
};

/** Starts the collector in this process, because the CPU time of this process is not measured. */
async function openCollector(): Promise<Collector> {
  let bytes = 0;
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    request.on('end', () => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    bytes: () => bytes,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Minimum median ratio of requests per second. A lower ratio is a loss of throughput. */
const RATIO_MIN = 0.97;

/** Minimum median ratio if this checkout traces 1 % of the requests. Source: project target. */
const TRACED_RATIO_MIN = 0.95;

/**
 * `starts`: number of starts of each version, because speed varies by up to a tenth between starts.
 * `pairs`: number of runs of each version per start. `seconds`: duration of a run.
 */
const FULL = { starts: 4, pairs: 6, seconds: 2, warmUpS: 6 };
const QUICK = { starts: 1, pairs: 2, seconds: 1, warmUpS: 1 };

type Pair = { readonly own: ClosedResult; readonly base: ClosedResult };

const startedMs = performance.now();

function print(line: string): void {
  const s = ((performance.now() - startedMs) / 1_000).toFixed(0);
  process.stderr.write(`${s.padStart(4)} s  ${line}\n`);
}

function hashOf(commit: string): string | undefined {
  const args = ['rev-parse', '--quiet', '--verify', '--short', `${commit}^{commit}`];
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

/**
 * Checks out the commit into a temporary folder, with this checkout's packages. Returns the folder.
 * Removes the folder when this process ends.
 */
function checkOut(commit: string): string {
  const folder = join(temporaryFolder(), 'base');
  const git = (...args: string[]) => execFileSync('git', args, { stdio: 'pipe' });
  git('worktree', 'add', '--detach', folder, commit);
  process.once('exit', () => git('worktree', 'remove', '--force', folder));
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  return folder;
}

async function pairsOf(
  wrk: string,
  [own, base]: readonly [Server, Server],
  connections: number,
  { pairs, seconds }: typeof FULL,
): Promise<Pair[]> {
  const found: Pair[] = [];
  for (let index = 0; index < pairs; index += 1) {
    const run = { connections, seconds };
    const first = await runWrk(wrk, index % 2 === 0 ? own : base, run);
    const second = await runWrk(wrk, index % 2 === 0 ? base : own, run);
    const pair = index % 2 === 0 ? { own: first, base: second } : { own: second, base: first };
    const problem = pair.own.problem ?? pair.base.problem;
    if (problem !== undefined) throw new Error(`a run is void: ${problem}`);
    found.push(pair);
  }
  return found;
}

function rowOf(
  what: string,
  pairs: readonly Pair[],
  ratioMin: number,
): { cells: string[]; isMet: boolean } {
  const cpuOf = ({ cpu }: ClosedResult) =>
    cpu
      .filter(({ process: name }) => name !== 'wrk')
      .reduce((sum, { microsPerRequest }) => sum + microsPerRequest, 0);
  const rates = pairs.map(({ own, base }) => own.requestsPerS / base.requestsPerS);
  const costs = pairs.map(({ own, base }) => cpuOf(own) / cpuOf(base));
  const isMet = quartilesOf(rates)[1] >= ratioMin;
  const texts = [rates, costs].map((values) => quartilesText(values, 3));
  return { cells: [what, `${pairs.length}`, ...texts, verdict(isMet)], isMet };
}

/** Configuration of this checkout's service, and the minimum ratio with this configuration. */
type Variant = {
  readonly title: string;
  readonly args: string;
  readonly ratioMin: number;
  readonly variables: Readonly<Record<string, string>>;
};

/** `ratio`: share of traced requests; undefined for no traces. */
function variantOf(ratio: string | undefined, endpoint: string): Variant {
  if (ratio === undefined) {
    return { title: 'Change of the code', args: '', ratioMin: RATIO_MIN, variables: {} };
  }
  return {
    title: 'Tracing',
    args: ` --traces ${ratio}`,
    ratioMin: TRACED_RATIO_MIN,
    variables: { SERVICE_OTLP_ENDPOINT: endpoint, SERVICE_TRACE_RATIO: ratio },
  };
}

/** Introduction of the report: which two versions the ratios compare. */
function aboutOf(hash: string, ratio: string | undefined): string {
  const [traced, untraced] =
    ratio === undefined ? ['', ''] : [` with \`SERVICE_TRACE_RATIO=${ratio}\``, ' without tracing'];
  return (
    `A ratio is the value of the measured commit${traced}, divided by the value of commit ${hash}` +
    `${untraced}. Both versions were started several times. A higher ratio of requests/s is better, ` +
    'and a lower ratio of CPU.'
  );
}

/** Set of processes that form a service. Both versions start the same set. */
type Topology = {
  readonly label: 's' | 'p';
  readonly title: string;
  readonly start: (main: string, more?: Readonly<Record<string, string>>) => Promise<Service>;
};

const TOPOLOGIES: readonly Topology[] = [
  { label: 's', title: 'standalone', start: startStandalone.bind(undefined, []) },
  { label: 'p', title: 'edge + limiter + engine', start: startThreeProcesses },
];

/** Parameters of a comparison. */
type Comparison = {
  /** Entry point of the other commit. */
  readonly main: string;
  /** Environment variables of this checkout's service. */
  readonly variables: Readonly<Record<string, string>>;
  readonly sizes: typeof FULL;
};

/** Pairs of runs from all starts, by number of connections. */
async function pairsOfTopology(
  wrk: string,
  { label, title, start }: Topology,
  { main, variables, sizes }: Comparison,
): Promise<ReadonlyMap<number, readonly Pair[]>> {
  const pairs = new Map<number, Pair[]>();
  for (let round = 0; round < sizes.starts; round += 1) {
    print(`${title}: start ${round + 1} of ${sizes.starts}`);
    await using opened = new AsyncDisposableStack();
    const startOwn = async () => opened.use(await start(MAIN, variables));
    // Alternate which version starts first.
    const early = round % 2 === 0 ? await startOwn() : undefined;
    const base = opened.use(await start(main));
    const own = early ?? (await startOwn());
    const servers = [
      await prepareService(label, own, temporaryFolder()),
      await prepareService(label, base, temporaryFolder()),
    ] as const;
    for (const server of servers) {
      await runWrk(wrk, server, { connections: 64, seconds: sizes.warmUpS });
    }
    for (const connections of CONNECTIONS) {
      const found = await pairsOf(wrk, servers, connections, sizes);
      pairs.set(connections, [...(pairs.get(connections) ?? []), ...found]);
    }
  }
  return pairs;
}

async function measure(hash: string, isQuick: boolean, ratio: string | undefined): Promise<void> {
  const sizes = isQuick ? QUICK : FULL;
  const wrk = await findWrk();
  const circumstances = await describeRun({ wrk });
  print(`checking out ${hash}`);
  const main = join(checkOut(hash), MAIN);
  await using collector = await openCollector();
  const { title, args, ratioMin, variables } = variantOf(ratio, collector.endpoint);
  const rows: { cells: string[]; isMet: boolean }[] = [];
  for (const topology of TOPOLOGIES) {
    const found = await pairsOfTopology(wrk, topology, { main, variables, sizes });
    for (const [connections, pairs] of found) {
      const row = rowOf(`${topology.title}, ${connections} connections`, pairs, ratioMin);
      print(row.cells.join('; '));
      rows.push(row);
    }
  }
  const heading = {
    title,
    about: aboutOf(hash, ratio),
    command: `node bench/against.ts ${hash}${isQuick ? ' --quick' : ''}${args}`,
    circumstances,
  };
  const report = reportSection(heading, [
    tableOf(
      ['', 'pairs', 'requests/s, ratio', 'CPU per request, ratio', `median ≥ ${ratioMin}`],
      rows.map(({ cells }) => cells),
    ),
  ]);
  process.stdout.write(`${report}\n`);
  print(`received ${collector.bytes()} bytes of traces`);
  if (!isQuick) await keepSection(AGAINST_PAGE, report);
  process.exitCode = isQuick || rows.every(({ isMet }) => isMet) ? 0 : 1;
}

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, traces: { type: 'string' } },
  allowPositionals: true,
});
const [commit] = positionals;
if (commit === undefined || positionals.length > 1) {
  console.error('usage: make against COMMIT=<commit> [ARGS="--quick --traces 0.01"]');
  process.exit(2);
}
const hash = hashOf(commit);
if (hash === undefined) {
  console.error(`this repository has no commit ${commit}`);
  process.exit(2);
}
await measure(hash, values.quick, values.traces);
