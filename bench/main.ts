import { writeFile } from 'node:fs/promises';
import { measureColdStart } from '#bench/cold-start';
import { type Load, measureLoad } from '#bench/load';
import { describeRun } from '#bench/machine';
import { measureMemory } from '#bench/memory';
import { type Options, readOptions, USAGE } from '#bench/options';
import { reportOf } from '#bench/report';
import { findK6, findWrk, MissingTool } from '#bench/tool-path';

/** Where the report of a complete run goes; written by nobody else. */
const RESULTS = 'bench/RESULTS.md';

const startedMs = performance.now();

function secondsSoFar(): number {
  return (performance.now() - startedMs) / 1_000;
}

function tell(line: string): void {
  process.stderr.write(`${secondsSoFar().toFixed(0).padStart(4)} s  ${line}\n`);
}

async function measureAll(options: Options): Promise<void> {
  const { parts } = options;
  const tools = { wrk: await findWrk(), k6: parts.has('open') ? await findK6(tell) : undefined };
  const circumstances = await describeRun(tools);
  const load = await measureLoad(tools, options, tell);
  const coldStarts = parts.has('cold') ? await measureColdStart(options.coldStarts, tell) : [];
  const memoryRun = { instances: options.memoryInstances, idleS: options.memoryIdleS };
  const memory = parts.has('memory') ? await measureMemory(memoryRun, tell) : undefined;
  const command = ['node', 'bench/main.ts', ...process.argv.slice(2)].join(' ');
  const seconds = secondsSoFar();
  const report = reportOf({ command, circumstances, ...load, coldStarts, memory, seconds });
  process.stdout.write(report);
  if (options.isComplete) await writeFile(RESULTS, report);
  else tell(`not a complete run: ${RESULTS} stays as it is`);
  if (isAnyVoid(load)) {
    tell('some measurements are void: see the report');
    process.exitCode = 1;
  }
}

function isAnyVoid({ rounds, open }: Load): boolean {
  const closed = rounds.flatMap(({ results }) => [...results.values()]);
  const results = [...closed, ...open.map(({ result }) => result)];
  return results.some(({ problem }) => problem !== undefined);
}

const options = readOptions(process.argv.slice(2));
if (options === undefined) {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 2;
} else {
  await measureAll(options).catch((error: unknown) => {
    if (!(error instanceof MissingTool)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
}
