import type { BenchAccount } from '#bench/limiter/bench-accounts';
import { type CallerResult, DecisionCaller, type Target } from '#bench/limiter/decision-caller';
import type { DeciderLabel, DecisionResult } from '#bench/limiter/findings';
import type { LoadRun } from '#bench/limiter/load';
import { cpuMicros, type Measured } from '#bench/measures/cpu-time';

/** A server that decides calls (limiter or Redis), and the accounts to decide about. */
export type DeciderPlan = {
  readonly label: DeciderLabel;
  readonly target: Target;
  readonly address: string;
  readonly accounts: readonly BenchAccount[];
  readonly processes: readonly Measured[];
};

/** Number of caller processes. With one caller, caller and server would be idle in turns. */
const CALLER_PROCESSES = 2;

/** Minimum share of an open load that callers must send on time. */
const KEPT_SHARE_MIN = 0.98;

/** A decider under test, with the caller processes that load the decider. */
export class Decider implements AsyncDisposable {
  readonly label: DeciderLabel;
  readonly #processes: readonly Measured[];
  readonly #callers: readonly DecisionCaller[];

  private constructor({ label, processes }: DeciderPlan, callers: readonly DecisionCaller[]) {
    this.label = label;
    this.#processes = processes;
    this.#callers = callers;
  }

  /** Starts and connects the callers. */
  static async start(plan: DeciderPlan): Promise<Decider> {
    await using opening = new AsyncDisposableStack();
    const callers: DecisionCaller[] = [];
    while (callers.length < CALLER_PROCESSES) {
      const caller = await DecisionCaller.start(plan.target, plan.address, plan.accounts);
      callers.push(opening.use(caller));
    }
    opening.move();
    return new Decider(plan, callers);
  }

  /** Loads the server from all callers. Each caller sends an equal part of `run`. */
  async load(run: LoadRun): Promise<DecisionResult> {
    const before = await this.#cpu();
    const part = partOf(run, this.#callers.length);
    const results = await Promise.all(this.#callers.map((caller) => caller.load(part)));
    const after = await this.#cpu();
    const decisions = results.reduce((sum, result) => sum + result.decisions, 0);
    const most = (read: (result: CallerResult) => number) => Math.max(...results.map(read));
    const decisionsPerS = decisions / most(({ seconds }) => seconds);
    const servers = this.#processes.map(({ name }, i) => ({
      process: name,
      microsPerRequest: ((after[i] ?? 0) - (before[i] ?? 0)) / decisions,
    }));
    const callerMicros = results.reduce((sum, result) => sum + result.cpuMicros, 0);
    const callers = { process: 'callers', microsPerRequest: callerMicros / decisions };
    return {
      decisionsPerS,
      p50Ms: most(({ p50Ms }) => p50Ms),
      p99Ms: most(({ p99Ms }) => p99Ms),
      longestMs: most(({ longestMs }) => longestMs),
      cpu: [...servers, callers],
      problem: problemOf(results, run, decisionsPerS),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#callers.map((caller) => caller[Symbol.asyncDispose]()));
  }

  async #cpu(): Promise<number[]> {
    return Promise.all(this.#processes.map(({ pid }) => cpuMicros(pid)));
  }
}

function partOf(run: LoadRun, count: number): LoadRun {
  return run.kind === 'closed'
    ? { ...run, callers: run.callers / count }
    : { ...run, perSecond: run.perSecond / count };
}

function problemOf(
  results: readonly CallerResult[],
  run: LoadRun,
  decisionsPerS: number,
): string | undefined {
  const refused = results.reduce((sum, result) => sum + result.refused, 0);
  const failed = results.reduce((sum, result) => sum + result.failed, 0);
  const failure = results.find((result) => result.failure !== undefined)?.failure;
  if (refused + failed > 0) return `${refused} refused, ${failed} failed (${failure})`;
  if (run.kind === 'closed' || decisionsPerS >= KEPT_SHARE_MIN * run.perSecond) return undefined;
  return `callers sent only ${Math.round(decisionsPerS)} of ${run.perSecond} decisions/s`;
}
