import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { BenchAccount } from '#bench/limiter/bench-accounts';
import type { LoadResult, LoadRun } from '#bench/limiter/load';
import { at } from '#bench/load/process-answer';
import { environment } from '#bench/processes/child';

/** A decider: a meter that reserves `cycles` cycles, or Redis. */
export type Target =
  | { readonly kind: 'meter'; readonly cycles: number }
  | { readonly kind: 'redis' };

/** A decider, its address, and the accounts to decide about. */
type Asked = {
  readonly target: Target;
  readonly address: string;
  readonly accounts: readonly BenchAccount[];
};

/** Message to a caller process. */
export type CallerRequest =
  | ({ readonly kind: 'open' } & Asked)
  | { readonly kind: 'load'; readonly run: LoadRun };

/** Result of a load, and the CPU time of the caller. */
export type CallerResult = LoadResult & { readonly cpuMicros: number };

/** A child process that loads a decider. It ends when disposed or when this process ends. */
export class DecisionCaller implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;

  private constructor(process: ChildProcess) {
    this.#process = process;
    this.#ended = once(process, 'exit').then(() => ({ error: 'the caller has ended' }));
  }

  /** Starts the child process and connects the child to the decider. */
  static async start(
    target: Target,
    address: string,
    accounts: readonly BenchAccount[],
  ): Promise<DecisionCaller> {
    const caller = new DecisionCaller(fork('bench/limiter/caller.ts', { env: environment() }));
    await caller.#ask({ kind: 'open', target, address, accounts });
    return caller;
  }

  /** Runs a load against the decider. */
  async load(run: LoadRun): Promise<CallerResult> {
    return (await this.#ask({ kind: 'load', run })) as CallerResult;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.disconnect();
    await this.#ended;
  }

  async #ask(request: CallerRequest): Promise<unknown> {
    this.#process.send(request);
    const answered = once(this.#process, 'message').then(([message]: unknown[]) => message);
    const answer: unknown = await Promise.race([answered, this.#ended]);
    const error = at(answer, ['error']);
    if (error !== undefined) throw new Error(String(error));
    return at(answer, ['result']);
  }
}
