import { STEP_S } from '#bench/load/observation-plan';
import { type Problem, problemOf } from '#bench/load/proof';
import { cpuMicros } from '#bench/measures/cpu-time';
import { Child, environment } from '#bench/processes/child';
import { PROCESS_PATH, type Server } from '#bench/processes/servers';

/** A closed-model run: each answer starts the connection's next request. */
export type ClosedRun = { readonly connections: number; readonly seconds: number };

/** CPU time of a process per answered request. */
export type CpuCost = { readonly process: string; readonly microsPerRequest: number };

/** Result of a run; void if `problem` is set. */
export type ClosedResult = {
  readonly requestsPerS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpu: readonly CpuCost[];
  readonly problem: Problem | undefined;
};

/** Maximum number of attempts for a run without late observations. */
const ATTEMPTS_MAX = 5;

/** Summary line that process.lua prints. */
type WrkSummary = {
  readonly answered: number;
  readonly micros: number;
  readonly badStatus: number;
  readonly socketErrors: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
  readonly cpuSeconds: number;
};

/** Runs wrk with one thread against `server` and checks the answers. */
export async function runWrk(wrk: string, server: Server, run: ClosedRun): Promise<ClosedResult> {
  let summary: WrkSummary | undefined;
  let cpu: readonly CpuCost[] = [];
  const proof = await problemOf(server, async () => {
    const before = await Promise.all(server.processes.map(({ pid }) => cpuMicros(pid)));
    summary = await send(wrk, server, run);
    const after = await Promise.all(server.processes.map(({ pid }) => cpuMicros(pid)));
    const { answered } = summary;
    cpu = server.processes.map((child, i) => ({
      process: child.name,
      microsPerRequest: ((after[i] ?? 0) - (before[i] ?? 0)) / answered,
    }));
    // At the end, wrk closes its connections. The service may have processed one uncounted request
    // per connection.
    return { answered, refused: summary.badStatus, unanswered: run.connections };
  });
  if (summary === undefined) throw new Error('wrk did not run');
  const { answered, micros, socketErrors } = summary;
  const wrkCpu = { process: 'wrk', microsPerRequest: (summary.cpuSeconds * 1e6) / answered };
  return {
    requestsPerS: (answered / micros) * 1e6,
    p50Ms: summary.p50Micros / 1_000,
    p99Ms: summary.p99Micros / 1_000,
    cpu: [...cpu, wrkCpu],
    problem: socketErrors > 0 ? { text: `${socketErrors} socket errors`, isLate: false } : proof,
  };
}

/**
 * As `runWrk`, but repeats a run with late observations. Void if the last attempt has late
 * observations too.
 */
export async function runWrkInTime(
  wrk: string,
  server: Server,
  run: ClosedRun,
  print: (line: string) => void,
): Promise<ClosedResult> {
  for (let attempt = 1; ; attempt += 1) {
    const result = await runWrk(wrk, server, run);
    const { problem } = result;
    if (problem?.isLate !== true || attempt === ATTEMPTS_MAX) return result;
    print(`${server.label} at ${run.connections}: ${problem.text}; the run is repeated`);
  }
}

async function send(wrk: string, server: Server, run: ClosedRun): Promise<WrkSummary> {
  const { plan } = server;
  const load = ['-t1', `-c${run.connections}`, `-d${run.seconds}s`, '-s', 'bench/load/process.lua'];
  const times = [`${plan.nextS}`, `${STEP_S}`, `${plan.position}`];
  const { processPath = PROCESS_PATH, isKeyed = false } = server;
  const planned = [plan.file, plan.key, ...times, processPath, ...(isKeyed ? ['keyed'] : [])];
  await using child = new Child({
    name: 'wrk',
    program: wrk,
    args: [...load, server.address, '--', ...planned],
    env: environment(),
  });
  await child.ended();
  const json = /^RESULT (.*)$/m.exec(child.output)?.[1];
  if (json === undefined) throw new Error(`wrk printed no result:\n${child.output.trim()}`);
  const summary = JSON.parse(json) as WrkSummary;
  // Plus 1: before the start, wrk builds one request to detect pipelining.
  plan.use(summary.answered + summary.socketErrors + run.connections + 1);
  if (server.isKeyed === true) plan.noteKeyed(summary.answered);
  return summary;
}
