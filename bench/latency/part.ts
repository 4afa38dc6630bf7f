import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startDurable } from '#bench/durable/service';
import { type K6Load, type K6Result, runK6 } from '#bench/latency/k6-load';
import { latencyPicture, PICTURE } from '#bench/latency/picture';
import { runWrk } from '#bench/load/wrk';
import { untilStored } from '#bench/measures/gauges';
import { checkLedger } from '#bench/measures/ledger';
import { type Spread, spreadOf } from '#bench/measures/statistics';
import { rounded } from '#bench/page/comparison';
import type { Findings, Part, Run, Table } from '#bench/page/part';
import { startOnFile } from '#bench/processes/file-service';
import { type Label, prepareService, type Server, TITLES } from '#bench/processes/servers';
import { startStandalone } from '#bench/processes/service';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { findWrk } from '#bench/processes/tool-path';
import { startReferenceOn } from '#bench/references/start-reference';
import { installedK6 } from '#deploy/local/install/k6';

/** Shares of the capacity at which requests arrive. Source: the project's targets. */
const SHARES = [0.5, 0.8] as const;

/** Number of users, or connections, of the loads before the open load. */
const USERS = 64;

/** Ratio of a rate to the next lower rate in the search for the capacity. */
const RATE_STEP = 0.8;

/** Attempts per row. A stall of the machine drops iterations and voids the attempt. */
const ATTEMPTS_MAX = 2;

/**
 * `instances`: number for each server. At every rate of a full run, an instance is observed less
 * than once in a second. `leadInS`: load before the measurement of a service on a store, until
 * checkpoints run steadily. `warmUpS`: load before the other measurements. `capacityS`: duration of
 * each run of the search for the capacity.
 */
const FULL = {
  instances: 10_000,
  rounds: 2,
  measuredS: 20,
  leadInS: 125,
  warmUpS: 5,
  capacityS: 8,
  isDrained: true,
};
const QUICK = {
  instances: 2_000,
  rounds: 1,
  measuredS: 3,
  leadInS: 2,
  warmUpS: 2,
  capacityS: 1,
  isDrained: false,
};

type Sizes = Readonly<typeof FULL>;

/** Latencies at a share of a server's capacity, over all rounds. */
type Row = {
  readonly label: Label;
  readonly share: number;
  readonly requestsPerS: number;
  readonly results: readonly K6Result[];
};

/** Latencies when requests arrive at a fixed rate, independent of answers. */
export const latency: Part = {
  name: 'latency',
  group: 'latency',
  title: 'Latency at 50 % and 80 % of the capacity',
  about:
    'k6 starts requests at a fixed rate and waits for no answer. The capacity is the highest rate ' +
    'at which k6 starts all requests in time. k6 and the server share two cores. Beside a fast ' +
    'server, k6 needs most of the CPU, so the capacity is far below the requests/s of the other ' +
    'parts. Each server has 10,000 instances. A run with a dropped or ' +
    'wrong request is void and repeated once.\n\n' +
    '![Latencies at 50 % and 80 % of the capacity](latency.svg)',
  needs: ['wrk', 'k6', 'cassandra', 'postgres'],
  async measure(run) {
    const sizes = run.isQuick ? QUICK : FULL;
    const rows = await measureRows(sizes, run);
    const isKept = !run.isQuick && run.servers === undefined;
    if (isKept) writeFileSync(PICTURE, latencyPicture(rows.map(pictureRow)));
    return findingsOf(rows);
  },
};

/** Servers of a quick run: the service, and a server without checkpoints. */
const QUICK_SERVERS: ReadonlySet<string> = new Set<Label>(['d', 'pg']);

async function measureRows(sizes: Sizes, { isQuick, servers: named, print }: Run): Promise<Row[]> {
  await using opened = new AsyncDisposableStack();
  const [wrk, k6] = [await findWrk(), await installedK6(print)];
  const wanted = named ?? (isQuick ? QUICK_SERVERS : undefined);
  const servers: Server[] = [];
  for (const [label, start] of starters(opened, sizes, print)) {
    if (wanted?.has(label) ?? true) servers.push(await start());
  }
  const rows: Row[] = [];
  for (const server of servers) {
    rows.push(...(await rowsOf(server, { wrk, k6 }, sizes, print)));
    await checkLedger(server);
  }
  return rows;
}

/** Functions that start the servers, with their instances. */
function starters(
  opening: AsyncDisposableStack,
  { instances: instanceCount }: Sizes,
  print: (line: string) => void,
): readonly (readonly [Label, () => Promise<Server>])[] {
  const folder = temporaryFolder();
  const size = { instanceCount, print };
  const stores = { cassandra: undefined, opening };
  const postgres = (label: 'pg' | 'cas') => startReferenceOn(stores, label, { folder, ...size });
  return [
    ['s', async () => prepareService('s', opening.use(await startStandalone()), folder, size)],
    [
      'e',
      async () => {
        const service = opening.use(await startOnFile(join(folder, 'service.db')));
        return { ...(await prepareService('e', service, folder, size)), isCheckpointing: true };
      },
    ],
    [
      'd',
      async () => {
        const plan = { engines: 1, folder: temporaryFolder(), print };
        const service = opening.use(await startDurable(plan));
        return { ...(await prepareService('d', service, folder, size)), isCheckpointing: true };
      },
    ],
    ['pg', () => postgres('pg')],
    ['cas', () => postgres('cas')],
  ];
}

/** Measures the capacity of a server, then its latencies at each share. */
async function rowsOf(
  server: Server,
  { wrk, k6 }: { readonly wrk: string; readonly k6: string },
  sizes: Sizes,
  print: (line: string) => void,
): Promise<Row[]> {
  const { label, service, isCheckpointing = false } = server;
  const leadInS = isCheckpointing ? sizes.leadInS : sizes.warmUpS;
  print(`${label}: load for ${leadInS} s, then the capacity`);
  await runWrk(wrk, server, { connections: USERS, seconds: leadInS });
  const capacity = await capacityOf(k6, server, sizes);
  print(`${label}: capacity ${capacity.toFixed(0)}/s`);
  const rows: Row[] = [];
  for (const share of SHARES) {
    const requestsPerS = Math.round(share * capacity);
    const results: K6Result[] = [];
    while (results.length < sizes.rounds) {
      const { measuredS: seconds, warmUpS } = sizes;
      const load = { kind: 'open', requestsPerS, seconds, warmUpS } as const;
      results.push(await attempted(k6, server, load, print));
    }
    rows.push({ label, share, requestsPerS, results });
  }
  if (isCheckpointing && sizes.isDrained) await untilStored(service?.metricsUrls ?? [], print);
  return rows;
}

/**
 * Highest rate at which k6 starts all requests in time, in requests/s. The search begins with the
 * rate that users without a pause reach, and lowers the rate step by step.
 */
async function capacityOf(
  k6: string,
  server: Server,
  { capacityS: seconds }: Sizes,
): Promise<number> {
  const closed = await runK6(k6, server, { kind: 'closed', users: USERS, seconds });
  if (closed.problem !== undefined) throw new Error(`${server.label}: ${closed.problem}`);
  for (let rate = closed.requestsPerS; rate >= 1; rate *= RATE_STEP) {
    const load = { kind: 'open', requestsPerS: Math.round(rate), seconds, warmUpS: 1 } as const;
    const { problem } = await runK6(k6, server, load);
    if (problem === undefined) return rate;
  }
  throw new Error(`${server.label}: k6 could not start one request in a second`);
}

async function attempted(
  k6: string,
  server: Server,
  load: K6Load & { readonly kind: 'open' },
  print: (line: string) => void,
): Promise<K6Result> {
  for (let attempt = 1; ; attempt += 1) {
    const result = await runK6(k6, server, load);
    const outcome = result.problem ?? `p99 ${result.p99Ms.toFixed(1)} ms`;
    print(`${server.label} at ${load.requestsPerS}/s: ${outcome}`);
    if (result.problem === undefined || attempt === ATTEMPTS_MAX) return result;
  }
}

function findingsOf(rows: readonly Row[]): Findings {
  return { tables: [tableOf(rows)], problems: rows.flatMap(problemsOf) };
}

function problemsOf({ label, share, results }: Row): string[] {
  return results.flatMap(({ problem }) =>
    problem === undefined ? [] : [`${label} at ${percent(share)}: ${problem}`],
  );
}

function tableOf(rows: readonly Row[]): Table {
  return {
    name: '',
    columns: [
      { name: 'server' },
      { name: 'share' },
      { name: 'requests/s' },
      ...['p50 ms', 'p99 ms', 'p99.9 ms'].map((name) => ({ name, decimals: 2 })),
    ],
    rows: rows.map((row) => ({
      name: row.label,
      cells: [
        TITLES[row.label],
        percent(row.share),
        row.requestsPerS,
        ...spreadsOf(row).map(rounded),
      ],
    })),
  };
}

/** p50, p99 and p99.9 of the valid rounds, in ms. */
function spreadsOf({ results }: Row): Spread[] {
  const valid = results.filter(({ problem }) => problem === undefined);
  return [
    spreadOf(valid.map(({ p50Ms }) => p50Ms)),
    spreadOf(valid.map(({ p99Ms }) => p99Ms)),
    spreadOf(valid.map(({ p999Ms }) => p999Ms)),
  ];
}

function pictureRow(row: Row) {
  const [p50Ms = Number.NaN, p99Ms = Number.NaN, p999Ms = Number.NaN] = spreadsOf(row).map(
    ({ median }) => median,
  );
  return { title: TITLES[row.label], share: row.share, p50Ms, p99Ms, p999Ms };
}

function percent(share: number): string {
  return `${share * 100} %`;
}
