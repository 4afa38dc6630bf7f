import type { Answer } from '../answer.ts';
import type { Call } from '../calls/call.ts';
import type {
  CallOptions,
  ConditionalOptions,
  KeyedOptions,
  ProcessOptions,
  ResetOptions,
} from '../calls/call-options.ts';
import type { Caller } from '../calls/caller.ts';
import { EventStream, type EventsOptions } from '../events/event-stream.ts';
import { ContractGuard, type GuardOptions } from '../guard.ts';
import { HeldContract } from '../held-contract.ts';
import { instancePath } from '../instance-path.ts';
import { canonical } from '../json.ts';
import type {
  BatchObservation,
  BatchProcessed,
  BatchResult,
  BatchStates,
  Contract,
  CurrentSnapshot,
  DriftEvent,
  DriftQuery,
  ForkedInstance,
  ForkInstance,
  HistoryQuery,
  HistoryRecord,
  Observation,
  Pagination,
  PastStates,
  Processed,
  ResetDone,
  ResetMode,
  States,
  StatesQuery,
  WholePagination,
} from '../models.ts';
import { nextByCursor, type Page, pageOf, rowsOf } from '../pages.ts';
import { conditionalResultOf, processResultOf, resultOf } from '../read-result.ts';
import type { NotModified, ProcessResult, Result } from '../result.ts';
import { eachRowOnce } from '../rows-once.ts';
import { uuid7 } from '../uuid7.ts';

/** Past states to read: exact cycles, or stored states in even steps, of a generation. */
export type PastQuery = Omit<StatesQuery, 'cycles'> & {
  readonly cycles?: readonly number[] | undefined;
};

/** Batch options; `includeIntermediate` returns the state after every observation. */
export type BatchOptions = ProcessOptions & { readonly includeIntermediate?: boolean | undefined };

/**
 * One instance (interface 4.2). Creating a handle sends no request. Calls throw `NotFoundError` if
 * the account has no instance with this id.
 */
export class InstanceHandle {
  /** `inst_` and 16 hexadecimal digits. */
  readonly id: string;
  readonly #caller: Caller;
  readonly #held = new HeldContract();

  /** Created by `client.instance(id)`. */
  constructor(caller: Caller, id: string) {
    this.#caller = caller;
    this.id = id;
  }

  /**
   * Sends an observation: one cycle, retried with the same key until the outcome is known. An
   * observation less than 1.000 s after the previous one is `throttled` in the result and changes
   * nothing. Throws `InvalidRequestError` for an invalid observation, `QuotaExceededError` if no
   * cycle is left.
   */
  async process(
    observation: Observation,
    options: ProcessOptions = {},
  ): Promise<ProcessResult<Processed>> {
    const answer = await this.#process('/process', observation, options);
    const result = processResultOf<Processed>(answer);
    this.#held.takeFrom(answer, result.data.contract, result.data.snapshot?.cycle);
    return result;
  }

  /**
   * Sends 1 to 100 observations as one atomic unit, applied in order. Either all have a
   * `timestamp`, ascending and at least 1.000 s apart, or none has. An observation with a known
   * `idempotency_key` is not applied again; `results` reports each outcome. Throws
   * `InvalidRequestError` with a `field` such as `observations[3].timestamp`.
   */
  processBatch(
    observations: readonly BatchObservation[],
    options?: BatchOptions & { readonly includeIntermediate?: false | undefined },
  ): Promise<ProcessResult<BatchProcessed>>;
  /** Sends a batch and returns the state after each observation. */
  processBatch(
    observations: readonly BatchObservation[],
    options: BatchOptions & { readonly includeIntermediate: true },
  ): Promise<ProcessResult<BatchStates>>;
  processBatch(
    observations: readonly BatchObservation[],
    options?: BatchOptions,
  ): Promise<ProcessResult<BatchResult>>;
  async processBatch(
    observations: readonly BatchObservation[],
    options: BatchOptions = {},
  ): Promise<ProcessResult<BatchResult>> {
    const body = { observations, include_intermediate: options.includeIntermediate };
    const answer = await this.#process('/process/batch', body, options);
    const result = processResultOf<BatchResult>(answer);
    const last = lastOf(result.data);
    if (last !== undefined) this.#held.takeFrom(answer, last.contract, last.snapshot?.cycle);
    return result;
  }

  /** State after the last cycle, not projected to the current time. */
  snapshot(options?: CallOptions): Promise<Result<CurrentSnapshot>>;
  /** State after the last cycle, or "not modified" if `ifNoneMatch` is the current version. */
  snapshot(options: ConditionalOptions): Promise<Result<CurrentSnapshot> | NotModified>;
  async snapshot(
    options: CallOptions & Partial<ConditionalOptions> = {},
  ): Promise<Result<CurrentSnapshot> | NotModified> {
    return conditionalResultOf(await this.#get('/snapshot', options));
  }

  /** Recommended and forbidden behavior of the agent now. */
  contract(options?: CallOptions): Promise<Result<Contract>>;
  /** Contract, or "not modified" if `ifNoneMatch` is the current version. */
  contract(options: ConditionalOptions): Promise<Result<Contract> | NotModified>;
  async contract(
    options: CallOptions & Partial<ConditionalOptions> = {},
  ): Promise<Result<Contract> | NotModified> {
    const answer = await this.#get('/contract', options);
    const result = conditionalResultOf<Contract>(answer);
    if (!result.isNotModified) this.#held.takeFrom(answer, result.data);
    return result;
  }

  /**
   * Starts a new generation: `initial` as created, `default` from the last stable state. Throws
   * `ConflictError` if `ifMatch` is not the current version.
   */
  async reset(mode: ResetMode, options: ResetOptions = {}): Promise<Result<ResetDone>> {
    const headers = { ...keyOf(options), 'if-match': options.ifMatch };
    const answer = await this.#caller.call({
      ...{ method: 'POST', path: this.#path('/reset'), body: { mode }, headers, options },
      ...{ repeatable: 'always', isChange: true },
    });
    const { facts, beganAtMs, callBeganAtMs } = answer;
    const isOfBefore = facts.isReplayed && facts.attempts === 1;
    if (!isOfBefore) this.#held.reset(facts.isReplayed ? callBeganAtMs : beganAtMs);
    return resultOf(answer);
  }

  /**
   * A page of observations, newest first. May have fewer rows than `limit` and still a next page.
   */
  async history(
    query: HistoryQuery = {},
    options: CallOptions = {},
  ): Promise<Page<HistoryRecord, Pagination>> {
    const answer = await this.#get('/history', options, query);
    return pageOf(
      answer,
      nextByCursor(query, (next) => this.history(next, options)),
    );
  }

  /**
   * All observations, newest first, each once even if new observations arrive. Keeps one page in
   * memory.
   */
  iterateHistory(
    query: HistoryQuery = {},
    options: CallOptions = {},
  ): AsyncIterable<HistoryRecord> {
    const whole = { limit: PAGE_ROWS, ...query };
    return eachRowOnce(rowsOf(() => this.history(whole, options)));
  }

  /** A page of drift events, newest first; up to 1,000 without `limit` and `offset`. */
  async drift(
    query: DriftQuery = {},
    options: CallOptions = {},
  ): Promise<Page<DriftEvent, Pagination | WholePagination>> {
    const answer = await this.#get('/drift', options, query);
    return pageOf<DriftEvent, Pagination | WholePagination>(
      answer,
      nextByCursor(query, (next) => this.drift({ limit: PAGE_ROWS, ...next }, options)),
    );
  }

  /**
   * All drift events, newest first, each once even if new events arrive. Keeps one page in memory.
   */
  iterateDrift(query: DriftQuery = {}, options: CallOptions = {}): AsyncIterable<DriftEvent> {
    const whole = { limit: PAGE_ROWS, ...query };
    return eachRowOnce(rowsOf(() => this.drift(whole, options)));
  }

  /** Simulates 1 to 20 observations on a copy. Nothing changes. */
  async simulate(
    observations: readonly Observation[],
    options: CallOptions = {},
  ): Promise<Result<States>> {
    return resultOf(
      await this.#caller.call({
        ...{ method: 'POST', path: this.#path('/simulate'), body: { observations }, options },
        ...{ repeatable: 'always', isChange: false },
      }),
    );
  }

  /**
   * Reads past states: at exact `cycles`, or at most `points` stored states in even steps. Throws
   * `NotFoundError` with reason `cycle_trimmed` or `unknown_cycle`, or `ConflictError` with reason
   * `state_not_stored`; `details.first_cycle` is the first available cycle.
   */
  async states(query: PastQuery = {}, options: CallOptions = {}): Promise<Result<PastStates>> {
    const { cycles, ...rest } = query;
    return resultOf(await this.#get('/states', options, { ...rest, cycles: cycles?.join() }));
  }

  /**
   * Creates an instance in the state after a `cycle` of this instance, once; retries use the same
   * idempotency key. Throws the errors of `states`, and `ForbiddenError` with reason
   * `instance_limit` if the plan allows no more instances.
   */
  async fork(fields: ForkInstance, options: KeyedOptions = {}): Promise<Result<ForkedInstance>> {
    return resultOf(
      await this.#caller.call({
        ...{ method: 'POST', path: this.#path('/fork'), body: fields },
        ...{ headers: keyOf(options), options },
        ...{ repeatable: 'always', isChange: true },
      }),
    );
  }

  /** Follows the instance; see `EventStream`. Opening a stream costs one request and no cycle. */
  events(options: EventsOptions = {}): EventStream {
    const path = this.#path('/events');
    return new EventStream(
      this.#caller,
      {
        path,
        onEvent: (event, arrival) => {
          if (event.type === 'reset') this.#held.reset();
          if (event.type !== 'state') return;
          const { contract, snapshot } = event.data;
          this.#held.take({ contract, cycle: snapshot?.cycle, ...arrival });
        },
      },
      options,
    );
  }

  /** Guard with the newest contract of all answers through this handle. */
  guard(options: GuardOptions = {}): ContractGuard {
    return new ContractGuard(this.#held, (call) => this.contract(call), options);
  }

  async #process(below: string, body: object, options: ProcessOptions): Promise<Answer> {
    const prefer = options.strict === true ? 'handling=strict' : undefined;
    const headers = { ...keyOf(options), prefer };
    return await this.#caller.call({
      ...{ method: 'POST', path: this.#path(below), body: canonical(body), headers, options },
      ...{ repeatable: 'always', isChange: true },
    });
  }

  async #get(
    below: string,
    options: CallOptions & Partial<ConditionalOptions>,
    query?: Call['query'],
  ): Promise<Answer> {
    const headers = { 'if-none-match': options.ifNoneMatch };
    return await this.#caller.call({
      ...{ method: 'GET', path: this.#path(below), query, headers, options },
      ...{ repeatable: 'always', isChange: false },
    });
  }

  #path(below: string): string {
    return instancePath(this.id, below);
  }
}

/** Iterator page size: the service's maximum. Source: interface 8.4. */
const PAGE_ROWS = 1_000;

function keyOf({ idempotencyKey }: KeyedOptions): Record<'idempotency-key', string> {
  return { 'idempotency-key': idempotencyKey ?? uuid7() };
}

/** The state after a batch. */
function lastOf(data: BatchResult): Pick<Processed, 'contract' | 'snapshot'> | undefined {
  return 'states' in data ? (data as BatchStates).states.at(-1) : (data as BatchProcessed);
}
