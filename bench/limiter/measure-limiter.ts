import { Decider } from '#bench/limiter/decider';
import type { Target } from '#bench/limiter/decision-caller';
import type { DecisionResult, DecisionRow, LimiterFindings } from '#bench/limiter/findings';
import { startLimiterService } from '#bench/limiter/limiter-service';
import type { LoadRun } from '#bench/limiter/load';
import { startRedis } from '#bench/limiter/redis-server';
import { numberText } from '#bench/measures/statistics';
import { findRedis } from '#bench/processes/tool-path';

/** Decisions in flight in the closed rounds. Source: the project's targets. */
const IN_FLIGHT = [64, 256] as const;

/** Rate of the open model, in decisions a second. Source: the project's targets. */
const OPEN_PER_S = 10_000;

/** Durations and repetitions, in seconds. */
export type LimiterSizes = {
  readonly rounds: number;
  readonly secondsPerRun: number;
  readonly openSeconds: number;
  readonly warmUpS: number;
  /** Initial load for Cassandra's JIT compilers. */
  readonly compileS: number;
};

/**
 * Measures a durable limiter and, if installed, Redis. The deciders take turns, in a different
 * order each round.
 */
export async function measureLimiter(
  sizes: LimiterSizes,
  print: (line: string) => void,
): Promise<LimiterFindings> {
  const redisProgram = await findRedis();
  await using opened = new AsyncDisposableStack();
  print('starting Cassandra, NATS and the limiter');
  const { address, accounts, processes } = opened.use(await startLimiterService(print));
  const meter = { address, accounts, processes };
  const deciders = [
    opened.use(await Decider.start({ ...meter, label: 'l', target: metersOf(1) })),
    opened.use(await Decider.start({ ...meter, label: 'r', target: metersOf(0) })),
  ];
  if (redisProgram === undefined)
    print('no comparison: install Redis with apt-get install redis-server');
  else {
    const redis = opened.use(await startRedis(redisProgram, { sync: 'everysec' }));
    const plan = { address: redis.address, accounts, processes: [redis.process] };
    const target = { kind: 'redis' } as const;
    deciders.push(opened.use(await Decider.start({ ...plan, label: 'redis', target })));
  }
  const rows = await runRounds(deciders, sizes, print);
  return { rows, isCompared: redisProgram !== undefined };
}

function metersOf(cycles: number): Target {
  return { kind: 'meter', cycles };
}

async function runRounds(
  deciders: readonly Decider[],
  { rounds, secondsPerRun, openSeconds, compileS, warmUpS }: LimiterSizes,
  print: (line: string) => void,
): Promise<DecisionRow[]> {
  const most = Math.max(...IN_FLIGHT);
  for (const decider of deciders) {
    // The first decider warms up until Cassandra's JIT compilers are idle.
    const seconds = decider === deciders[0] ? compileS : warmUpS;
    print(`warming up ${decider.label} for ${seconds} s`);
    await decider.load({ kind: 'closed', callers: most, seconds });
  }
  const runs: LoadRun[] = [
    ...IN_FLIGHT.map((callers) => ({ kind: 'closed', callers, seconds: secondsPerRun }) as const),
    { kind: 'open', perSecond: OPEN_PER_S, seconds: openSeconds },
  ];
  const rows: DecisionRow[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const order = deciders.map((_, i) => deciders[(i + round) % deciders.length] as Decider);
    for (const run of runs) {
      for (const decider of order) {
        const { label } = decider;
        const result = await decider.load(run);
        rows.push({ label, round, run, result });
        print(`round ${round + 1}/${rounds}: ${label} ${lineOf(run, result)}`);
      }
    }
  }
  return rows;
}

function lineOf(run: LoadRun, { decisionsPerS, p99Ms, problem }: DecisionResult): string {
  const where = run.kind === 'closed' ? `with ${run.callers} in flight` : 'at a fixed rate';
  if (problem !== undefined) return `${where}: VOID, ${problem}`;
  return `${where}: ${numberText(decisionsPerS, 0)} decisions/s, p99 ${numberText(p99Ms, 2)} ms`;
}
