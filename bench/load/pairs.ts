import { type ClosedResult, runWrk } from '#bench/load/wrk';
import { microsOf } from '#bench/page/comparison';
import { prepareService, type Server } from '#bench/processes/servers';
import { type Service, startStandalone, startThreeProcesses } from '#bench/processes/service';
import { temporaryFolder } from '#bench/processes/temporary-folder';

/** Numbers of connections at which two variants are compared. */
const CONNECTIONS = [64, 4] as const;

/**
 * `starts`: number of starts of each variant, because speed varies by up to a tenth between starts.
 * `pairs`: number of runs of each variant per start. `seconds`: duration of a run.
 */
export type PairSizes = {
  readonly starts: number;
  readonly pairs: number;
  readonly seconds: number;
  readonly warmUpS: number;
};

/** How to start a variant of the service: its entry point and environment variables. */
export type Variant = {
  readonly main?: string;
  readonly variables?: Readonly<Record<string, string>>;
};

/** Ratios of `own` to `base`, one for each pair of runs. */
export type Ratios = {
  /** Processes and connections of the runs. */
  readonly what: string;
  /** Ratios of requests per second. */
  readonly rates: readonly number[];
  /** Ratios of the CPU time per request of all processes of the service. */
  readonly costs: readonly number[];
};

/** Set of processes that form a service. Both variants start the same set. */
const TOPOLOGIES = [
  {
    label: 's',
    title: 'standalone',
    start: ({ main, variables }: Variant): Promise<Service> => startStandalone([], main, variables),
  },
  {
    label: 'p',
    title: 'edge + limiter + engine',
    start: ({ main, variables }: Variant): Promise<Service> => startThreeProcesses(main, variables),
  },
] as const;

/**
 * Compares two variants of the service, which run at the same time and take turns, so that other
 * work on the machine slows both.
 */
export async function comparePairs(
  wrk: string,
  variants: readonly [Variant, Variant],
  sizes: PairSizes,
  print: (line: string) => void,
): Promise<Ratios[]> {
  const all: Ratios[] = [];
  for (const topology of TOPOLOGIES) {
    for (let round = 0; round < sizes.starts; round += 1) {
      print(`${topology.title}: start ${round + 1} of ${sizes.starts}`);
      all.push(...(await ratiosOfStart(wrk, topology, variants, { ...sizes, round })));
    }
  }
  return [...Map.groupBy(all, ({ what }) => what)].map(([what, ratios]) => ({
    what,
    rates: ratios.flatMap(({ rates }) => rates),
    costs: ratios.flatMap(({ costs }) => costs),
  }));
}

/** Starts both variants once, and measures pairs at each number of connections. */
async function ratiosOfStart(
  wrk: string,
  { label, title, start }: (typeof TOPOLOGIES)[number],
  [own, base]: readonly [Variant, Variant],
  { round, ...sizes }: PairSizes & { readonly round: number },
): Promise<Ratios[]> {
  await using opened = new AsyncDisposableStack();
  const started = async (variant: Variant) =>
    prepareService(label, opened.use(await start(variant)), temporaryFolder());
  // Alternate which variant starts first.
  const early = round % 2 === 0 ? await started(own) : undefined;
  const other = await started(base);
  const servers = [early ?? (await started(own)), other] as const;
  for (const server of servers) {
    await runWrk(wrk, server, { connections: CONNECTIONS[0], seconds: sizes.warmUpS });
  }
  const found: Ratios[] = [];
  for (const connections of CONNECTIONS) {
    const ratios = await ratiosOfPairs(wrk, servers, { ...sizes, connections });
    found.push({ what: `${title}, ${connections} connections`, ...ratios });
  }
  return found;
}

/**
 * Ratios of pairs of runs on two running servers, the first divided by the second. The servers
 * take turns in changing order. Throws if a run is void.
 */
export async function ratiosOfPairs(
  wrk: string,
  [own, base]: readonly [Server, Server],
  {
    pairs,
    ...run
  }: { readonly pairs: number; readonly connections: number; readonly seconds: number },
): Promise<Omit<Ratios, 'what'>> {
  const [rates, costs]: [number[], number[]] = [[], []];
  for (let index = 0; index < pairs; index += 1) {
    const isOwnFirst = index % 2 === 0;
    const first = await runWrk(wrk, isOwnFirst ? own : base, run);
    const second = await runWrk(wrk, isOwnFirst ? base : own, run);
    const problem = first.problem ?? second.problem;
    if (problem !== undefined) throw new Error(`a run is void: ${problem.text}`);
    const [ofOwn, ofBase] = isOwnFirst ? [first, second] : [second, first];
    rates.push(ofOwn.requestsPerS / ofBase.requestsPerS);
    costs.push(costOf(ofOwn) / costOf(ofBase));
  }
  return { rates, costs };
}

function costOf(result: ClosedResult): number {
  return microsOf(result, (name) => name !== 'wrk');
}
