import { writeFile } from 'node:fs/promises';
import { comparisonsOf, isOnCassandra } from '#bench/durable/comparisons';
import { measureJournalAge } from '#bench/durable/journal-age';
import { type DurableFindings, measureDurable } from '#bench/durable/measure';
import type { LimiterFindings } from '#bench/limiter/findings';
import { measureLimiter } from '#bench/limiter/measure-limiter';
import { type Load, measureLoad } from '#bench/load/generators';
import { measureColdStart } from '#bench/measures/cold-start';
import { describeRun } from '#bench/measures/machine';
import { measureMemory } from '#bench/measures/memory';
import { type Options, readOptions, USAGE } from '#bench/options';
import { findRedis, findWrk, MissingTool } from '#bench/processes/tool-path';
import { findPostgres } from '#bench/references/postgres-server';
import { reportOf } from '#bench/report';
import { installedCassandra } from '#deploy/local/install/cassandra';
import { installedK6 } from '#deploy/local/install/k6';
import { MissingServer } from '#deploy/local/install/missing-server';
import { installedNats } from '#deploy/local/install/nats';

/** Results file of a complete run. */
const RESULTS = 'bench/RESULTS.md';

const startedMs = performance.now();

function secondsSoFar(): number {
  return (performance.now() - startedMs) / 1_000;
}

function print(line: string): void {
  process.stderr.write(`${secondsSoFar().toFixed(0).padStart(4)} s  ${line}\n`);
}

async function measureAll(options: Options): Promise<void> {
  const { parts } = options;
  const tools = await findTools(options);
  const circumstances = await describeRun(tools);
  const load = await measureLoad(tools, options, print);
  const durable = await measureDurable(tools, options, print);
  const limiter = await measureLimiter(tools.redis, options, print);
  const coldStarts = parts.has('cold') ? await measureColdStart(options.coldStarts, print) : [];
  const memoryRun = { instances: options.memoryInstances, idleS: options.memoryIdleS };
  const memory = parts.has('memory') ? await measureMemory(memoryRun, print) : undefined;
  const journal = parts.has('journal')
    ? await measureJournalAge(options.journalSlots, print)
    : undefined;
  const command = ['node', 'bench/main.ts', ...process.argv.slice(2)].join(' ');
  const seconds = secondsSoFar();
  const { checkpointS } = options;
  const found = { ...load, durable, checkpointS, limiter, coldStarts, memory, journal };
  const report = reportOf({ command, circumstances, ...found, seconds });
  process.stdout.write(report);
  if (options.isComplete) await writeFile(RESULTS, report);
  else print(`${RESULTS} is unchanged, because this run is not complete`);
  if (isAnyVoid(load, durable, limiter)) {
    print('some measurements are void: the report gives the reasons');
    process.exitCode = 1;
  }
}

/** Finds all tools before the first measurement, so that a missing tool wastes no time. */
async function findTools(options: Options) {
  const { parts } = options;
  const wrk = await findWrk();
  const comparisons = comparisonsOf(options);
  const isBesidePostgres = comparisons.some(({ references }) => references.length > 0);
  const postgres = isBesidePostgres ? await findPostgres() : undefined;
  const isOnStores = comparisons.some(isOnCassandra) || parts.has('limiter');
  if (isOnStores || parts.has('journal')) await installedCassandra(print);
  if (isOnStores) await installedNats(print);
  const k6 = parts.has('open') ? await installedK6(print) : undefined;
  const redis = parts.has('limiter') ? await findRedis() : undefined;
  return { wrk, k6, postgres, redis };
}

function isAnyVoid(
  { rounds, open }: Load,
  durable: readonly DurableFindings[],
  limiter: LimiterFindings | undefined,
): boolean {
  const all = [...rounds, ...durable.flatMap((comparison) => comparison.rounds)];
  const closed = all.flatMap(({ results }) => [...results.values()]);
  const decided = limiter?.rows.map(({ result }) => result) ?? [];
  const results = [...closed, ...open.map(({ result }) => result), ...decided];
  return results.some(({ problem }) => problem !== undefined);
}

const options = readOptions(process.argv.slice(2));
if (process.argv.includes('--help')) {
  process.stdout.write(`${USAGE}\n`);
} else if (options === undefined) {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 2;
} else {
  await measureAll(options).catch((error: unknown) => {
    if (!(error instanceof MissingTool || error instanceof MissingServer)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
}
