import { ApiError, IdentityEngineError } from '../errors.ts';
import type { Contract, ModeStrengths } from '../models.ts';
import type { ObservationBuffer } from '../observation-buffer/observation-buffer.ts';
import { AHEAD_MS_MAX, INTERVAL_MS } from '../observation-buffer/spacing.ts';
import type { InstanceHandle } from '../resources/instance-handle.ts';
import {
  type Appraisal,
  type Appraiser,
  checkedAppraisal,
  ruleAppraiser,
  type ToolOutcome,
  type ToolUse,
  type Turn,
  type TurnOutcome,
} from './appraiser.ts';
import { contractPrompt, WORDING, type Wording } from './contract-prompt.ts';
import { outcomeOf } from './outcome.ts';
import { ToolPolicy } from './tool-policy.ts';

/** Options of an agent. */
export type AgentOptions<Tool extends string = string> = {
  /** Actions of the agent's tools. Default: no tool is mapped. */
  readonly tools?: ToolPolicy<Tool> | undefined;
  /** Default: `ruleAppraiser()`. If the appraiser fails or is too slow, the rules apply. */
  readonly appraiser?: Appraiser | undefined;
  /** Default: `WORDING`. */
  readonly wording?: Wording | undefined;
  /**
   * Deadline of each call of the service in a turn, in milliseconds. Also the maximum wait for the
   * service in `begin`, and in begin and end of `turn` together. Default: 2,000.
   */
  readonly timeoutMs?: number | undefined;
  /** Deadline of the appraiser, in milliseconds. Default: 10,000. */
  readonly appraiserTimeoutMs?: number | undefined;
  /** Age up to which a turn begins with the last contract, without a request. Default: 60,000. */
  readonly freshMs?: number | undefined;
  /** Age up to which the last contract applies while the service is away. Default: 600,000. */
  readonly staleMs?: number | undefined;
  /**
   * Behavior without a contract, because the service is away. `open`: no prompt, every tool is
   * permitted. `closed`: mapped tools are refused. `raise`: `begin` throws the cause. Default:
   * `open`.
   */
  readonly unavailable?: 'open' | 'closed' | 'raise' | undefined;
  /**
   * Sends the observations instead of the agent. With a spool, an observation survives a crash of
   * the process from the moment when `end` resolves. Batches cost fewer requests, but a turn that
   * begins within `delayMaxMs` after another turn may use the contract before that turn. Close the
   * buffer before the program ends. Default: the agent sends each observation at once.
   */
  readonly buffer?: ObservationBuffer | undefined;
  /**
   * Called with each error that the agent survives: the service is away, or the appraiser fails.
   * While the service is away, called only with the first failure until the next answer.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
};

/** Identifies a turn. The same run and turn count once, also after a crash and a new attempt. */
export type TurnStart = {
  /** Id of the agent's run, or of the conversation and its turn. At most 200 characters. */
  readonly runId: string;
  /** Number of the turn in the run. Without a turn, the whole run counts once. */
  readonly turn?: number | string | undefined;
  readonly input?: string | undefined;
  /** Signal that stops the run. If aborted, an error of the run is no failure of the agent. */
  readonly signal?: AbortSignal | undefined;
};

/** End of a turn. */
export type TurnEnd = { readonly outcome?: TurnOutcome; readonly output?: string | undefined };

/** Maximum attempts for an observation that another process preceded by less than a second. */
const THROTTLED_MAX = 10;

/** Time without waiting for the service after a failure, in milliseconds. */
const REST_MS = 5_000;

/** Maximum number of ended runs that are kept, to report a run that occurs twice. */
const ENDED_RUNS_MAX = 1_000;

/** Maximum number of ended turns whose observations wait. Enough for minutes of a slow service. */
const WAITING_MAX = 1_000;

/** Maximum length of an idempotency key. Source: interface 7.2. */
const KEY_CHARACTERS_MAX = 255;

/**
 * An agent whose character is one instance: gives each turn a prompt and permits tools by the
 * newest contract, and observes each finished turn exactly once. Adapters to frameworks use this
 * class; call `begin` and `end` around a turn to use it without a framework.
 */
export class Agent<Tool extends string = string> {
  readonly instance: InstanceHandle;
  readonly tools: ToolPolicy<Tool>;
  readonly #options: AgentOptions<Tool>;
  readonly #timeoutMs: number;
  readonly #guard;
  #setPoint: Promise<ModeStrengths | undefined> | undefined;
  #nextAtMs = 0;
  /** Whether the key may not observe. The refusal was reported once. */
  #isReadOnly = false;
  /** Observations of one agent are sent one after the other, in the order of the turns' ends. */
  #sending: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** Failure of the service that was reported; undefined after an answer. */
  #failure: unknown;
  /** Until this time, the agent waits for no request. Monotonic milliseconds. */
  #restingUntilMs = 0;
  /** Newest runs whose turns had no number. */
  readonly #endedRuns = new Set<string>();

  /** Throws `IdentityEngineError` for invalid options. */
  constructor(instance: InstanceHandle, options: AgentOptions<Tool> = {}) {
    const { tools, timeoutMs = 2_000, unavailable = 'open' } = options;
    if (tools !== undefined && !(tools instanceof ToolPolicy)) {
      throw new IdentityEngineError('tools must be a ToolPolicy: new ToolPolicy({ … })');
    }
    if (!['open', 'closed', 'raise'].includes(unavailable)) {
      throw new IdentityEngineError(
        `unavailable must be open, closed or raise, not ${unavailable}`,
      );
    }
    this.instance = instance;
    this.tools = tools ?? new ToolPolicy<Tool>();
    this.#options = options;
    this.#timeoutMs = timeoutMs;
    this.#guard = instance.guard();
  }

  /**
   * Runs one turn and ends it exactly once: as completed if `run` resolves, otherwise as
   * `outcomeOf` classifies the error, which is thrown unchanged. Begin and end together wait at most
   * `timeoutMs` for the service; the observation continues after that. `run` may end the turn itself
   * to supply an output.
   */
  async turn<T>(start: TurnStart, run: (turn: AgentTurn<Tool>) => T | Promise<T>): Promise<T> {
    const untilMs = performance.now() + this.#timeoutMs;
    const turn = await this.begin(start);
    const leftMs = untilMs - performance.now();
    let outcome: TurnOutcome = 'completed';
    try {
      return await run(turn);
    } catch (error) {
      outcome = start.signal?.aborted === true ? 'aborted' : outcomeOf(error);
      throw error;
    } finally {
      await this.#waitFor(turn.end({ outcome }), leftMs);
    }
  }

  /**
   * Begins a turn with the newest contract. Sends no request if the last answer's contract is
   * fresh. If the service is away, uses the last contract, then follows `unavailable`. Waits at
   * most `timeoutMs`, also for the observations of earlier turns. After a failure, further turns
   * wait for nothing for 5 s.
   */
  async begin(start: TurnStart): Promise<AgentTurn<Tool>> {
    const key = keyOf(start);
    const { freshMs = 60_000, staleMs = 600_000, unavailable } = this.#options;
    const untilMs = performance.now() + this.#timeoutMs;
    // The other half of the time is for the contract, also if an appraiser is slow.
    if (this.#waiting > 0) await this.#waitFor(this.#sending, this.#timeoutMs / 2);
    if (this.#ageMs > freshMs) {
      const failed = await this.#refresh(untilMs - performance.now());
      const isUsable = this.#ageMs <= staleMs;
      if (failed !== undefined && !isUsable && unavailable === 'raise') throw failed.error;
      if (failed?.isFirst === true) this.#report(failed.error);
      if (failed !== undefined && !isUsable) return this.#turn(start, key, undefined);
    }
    return this.#turn(start, key, this.#guard.contract);
  }

  /**
   * Requests the contract. Returns the failure of a service that is away: the last failure at once
   * while the agent rests.
   */
  async #refresh(
    timeoutMs: number,
  ): Promise<{ readonly error: unknown; readonly isFirst: boolean } | undefined> {
    if (this.#isResting) return { error: this.#failure, isFirst: false };
    try {
      await this.#guard.refresh({ timeoutMs: Math.max(timeoutMs, 1) });
      this.#failure = undefined;
      return undefined;
    } catch (error) {
      if (isFatal(error)) throw error;
      return { error, isFirst: this.#rest(error) };
    }
  }

  get #isResting(): boolean {
    return this.#failure !== undefined && performance.now() < this.#restingUntilMs;
  }

  /** Notes a failure of the service, or reports any other error. */
  #survive(error: unknown): void {
    if (isFatal(error) || this.#rest(error)) this.#report(error);
  }

  /** Notes that the service is away. Returns whether this is the first failure since an answer. */
  #rest(error: unknown): boolean {
    const isFirst = this.#failure === undefined;
    this.#failure = error;
    this.#restingUntilMs = performance.now() + REST_MS;
    return isFirst;
  }

  /** Age of the newest contract, in milliseconds; infinite without a contract. */
  get #ageMs(): number {
    return this.#guard.ageMs ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Waits until the observations of all ended turns are sent, in the buffer of the options, or given
   * up. Never rejects.
   */
  async flush(): Promise<void> {
    await this.#sending;
  }

  /** Waits for a promise that never rejects, at most `ms`; not at all while the agent rests. */
  async #waitFor(sent: Promise<unknown>, ms: number): Promise<void> {
    if (ms <= 0 || this.#isResting) return;
    await within(ms, 'an observation', () => sent).catch(() => undefined);
  }

  #turn(start: TurnStart, key: string, contract: Contract | undefined): AgentTurn<Tool> {
    const { wording, unavailable } = this.#options;
    return new AgentTurn({
      policy: this.tools,
      contract,
      newest: () => (contract === undefined ? undefined : this.#guard.contract),
      wording: wording ?? WORDING,
      isClosed: contract === undefined && unavailable === 'closed',
      onEnd: (end, tools) => {
        this.#noteRun(start);
        return this.#end({ ...end, tools, input: start.input, contract }, key);
      },
    });
  }

  async #end(turn: Omit<Turn, 'setPoint'>, key: string): Promise<void> {
    if (this.#waiting >= WAITING_MAX) {
      this.#report(
        new IdentityEngineError(`${WAITING_MAX} observations are waiting; turn dropped`),
      );
      return;
    }
    this.#waiting += 1;
    this.#sending = this.#send(turn, key, this.#sending)
      .catch((error: unknown) => this.#survive(error))
      .finally(() => {
        this.#waiting -= 1;
      });
    await this.#sending;
  }

  /** Reports a second turn of a run whose turns have no number: only the first turn counts. */
  #noteRun({ runId, turn }: TurnStart): void {
    if (turn !== undefined) return;
    if (this.#endedRuns.has(runId)) {
      const text = `two turns have the runId ${runId}, so only the first counts: pass turn too`;
      this.#report(new IdentityEngineError(text));
    }
    this.#endedRuns.add(runId);
    const [oldest] = this.#endedRuns;
    if (this.#endedRuns.size > ENDED_RUNS_MAX && oldest !== undefined) {
      this.#endedRuns.delete(oldest);
    }
  }

  /** Appraises a turn, and sends its observation after the observations of earlier turns. */
  async #send(turn: Omit<Turn, 'setPoint'>, key: string, earlier: Promise<unknown>): Promise<void> {
    const setPoint = await this.#knownSetPoint();
    const appraisal = await this.#appraise({ ...turn, setPoint });
    await earlier;
    if (appraisal === undefined || this.#isReadOnly) return;
    const { buffer } = this.#options;
    if (buffer === undefined) return await this.#observe(appraisal, key);
    // Errors of the buffer are no outage of the service.
    const observation = { ...appraisal, idempotency_key: key };
    await buffer.add(this.instance, observation).catch((error: unknown) => this.#report(error));
  }

  /** Set-point of the instance, read once: it moves by less than 0.03 in 200 turns. */
  async #knownSetPoint(): Promise<ModeStrengths | undefined> {
    this.#setPoint ??= this.instance
      .snapshot({ timeoutMs: this.#timeoutMs })
      .then(({ data }) => data.set_point ?? data.mode_strengths);
    return await this.#setPoint.catch((error: unknown) => {
      this.#setPoint = undefined;
      this.#survive(error);
      return undefined;
    });
  }

  async #appraise(turn: Turn): Promise<Appraisal | undefined> {
    const { appraiser, appraiserTimeoutMs = 10_000 } = this.#options;
    if (appraiser === undefined) return ruleAppraiser()(turn);
    try {
      const appraisal = await within(
        appraiserTimeoutMs,
        'the appraiser',
        async () => await appraiser(turn),
      );
      return appraisal === undefined ? undefined : checkedAppraisal(appraisal);
    } catch (error) {
      this.#report(error);
      return ruleAppraiser()(turn);
    }
  }

  /** Sends an observation. Timestamps are at least a second apart, so quick turns all count. */
  async #observe(appraisal: Appraisal, idempotencyKey: string): Promise<void> {
    for (let attempt = 1; attempt <= THROTTLED_MAX; attempt += 1) {
      // Many quick turns run ahead of the clock. The next timestamp must not exceed the maximum lead.
      await pause(this.#nextAtMs - AHEAD_MS_MAX - Date.now());
      const atMs = Math.max(Date.now(), this.#nextAtMs);
      // Also after a lost answer: the observation may have been applied.
      this.#nextAtMs = atMs + INTERVAL_MS;
      const timestamp = new Date(atMs).toISOString();
      try {
        const observation = { ...appraisal, timestamp };
        const { throttled } = await this.instance.process(observation, {
          idempotencyKey,
          timeoutMs: this.#timeoutMs,
        });
        this.#failure = undefined;
        if (throttled === undefined) return;
        // Another process observes the same instance: choose another second at random.
        this.#nextAtMs =
          atMs + throttled.retryAfterMs + Math.random() * (attempt - 1) * INTERVAL_MS;
      } catch (error) {
        // An earlier attempt of this turn, perhaps in another process, was counted.
        if (error instanceof ApiError && error.reason === 'idempotency_key_reused') return;
        this.#isReadOnly ||= error instanceof ApiError && error.reason === 'missing_scope';
        throw error;
      }
    }
    const text = `the observation was throttled ${THROTTLED_MAX} times`;
    this.#report(new IdentityEngineError(text));
  }

  #report(error: unknown): void {
    try {
      this.#options.onError?.(error);
    } catch {
      // A broken callback must not end the agent's turn.
    }
  }
}

type TurnPorts<Tool extends string> = {
  readonly policy: ToolPolicy<Tool>;
  readonly contract: Contract | undefined;
  /** Newest contract, which another turn may have received meanwhile. */
  readonly newest: () => Contract | undefined;
  readonly wording: Wording;
  readonly isClosed: boolean;
  readonly onEnd: (
    end: Required<Pick<TurnEnd, 'outcome'>> & TurnEnd,
    tools: ToolUse[],
  ) => Promise<void>;
};

/** One turn of an agent. */
export class AgentTurn<Tool extends string = string> {
  readonly #ports: TurnPorts<Tool>;
  readonly #tools: ToolUse[] = [];
  #ended: Promise<void> | undefined;

  /** Created by `agent.begin`. */
  constructor(ports: TurnPorts<Tool>) {
    this.#ports = ports;
  }

  /** Newest contract; undefined if the service is away and no usable contract is known. */
  get contract(): Contract | undefined {
    return this.#ports.newest();
  }

  /** Text for the end of the model's instructions; empty without a contract. */
  get prompt(): string {
    const { contract } = this;
    return contract === undefined ? '' : contractPrompt(contract, this.#ports.wording);
  }

  /** Tools that the model may see, in the given order: in mode `hide`, the permitted tools. */
  offered<Name extends string>(tools: readonly Name[]): Name[] {
    const isHiding = this.#ports.policy.mode === 'hide';
    return tools.filter((tool) => !isHiding || this.permits(tool));
  }

  /** Whether a tool may run now. Notes nothing. For tools whose calls nobody can refuse. */
  permits(tool: string): boolean {
    return this.#reasonAgainst(tool) === undefined;
  }

  /**
   * Sentence that answers a call instead of running the tool; undefined if the tool may run. Notes
   * the refusal.
   */
  refusalOf(tool: string): string | undefined {
    const refusal = this.#reasonAgainst(tool);
    if (refusal !== undefined) this.used(tool, 'refused');
    return refusal;
  }

  #reasonAgainst(tool: string): string | undefined {
    const { policy, wording, isClosed } = this.#ports;
    const isShut = isClosed && policy.mode !== 'observe' && policy.actionsOf(tool).length > 0;
    if (isShut) return wording.unknown.replace('{tool}', () => tool);
    return policy.refusalOf(tool, this.contract);
  }

  /** Notes the outcome of a tool call that ran. */
  used(tool: string, outcome: ToolOutcome): void {
    this.#tools.push({ tool, outcome, actions: this.#ports.policy.actionsOf(tool) });
  }

  /**
   * Ends the turn and observes it. Further calls return the same promise, so a turn counts once.
   * Never rejects: errors go to `onError`.
   */
  end({ outcome = 'completed', output }: TurnEnd = {}): Promise<void> {
    this.#ended ??= this.#ports.onEnd({ outcome, output }, this.#tools);
    return this.#ended;
  }
}

/** Errors that no later attempt mends: a wrong key, a missing instance, a wrong argument. */
function isFatal(error: unknown): boolean {
  if (!(error instanceof ApiError)) return !(error instanceof IdentityEngineError);
  return error.status < 500 && error.status !== 429 && error.status !== 408;
}

/** Waits for `ms` milliseconds; not at all for 0 or less. */
function pause(ms: number): Promise<void> | undefined {
  return ms <= 0 ? undefined : new Promise((resolve) => setTimeout(resolve, ms));
}

/** Idempotency key of a turn. Colons in `runId` are escaped, so that no two turns share a key. */
function keyOf({ runId, turn }: TurnStart): string {
  const run = runId.replace(/[%:]/g, encodeURIComponent);
  const key = turn === undefined ? `turn:${run}` : `turn:${run}:${turn}`;
  if (runId.length > 0 && key.length <= KEY_CHARACTERS_MAX && /^[\x20-\x7e]*[!-~]$/.test(key)) {
    return key;
  }
  throw new IdentityEngineError(
    `runId and turn must be 1 to ${KEY_CHARACTERS_MAX - 6} printable ASCII characters, without a space at the end`,
  );
}

/** Result of a task; rejects if the task takes longer than `ms`. */
async function within<T>(ms: number, name: string, task: () => Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new IdentityEngineError(`${name} took longer than ${ms} ms`);
    timer = setTimeout(() => reject(error), ms);
  });
  try {
    return await Promise.race([task(), late]);
  } finally {
    clearTimeout(timer);
  }
}
