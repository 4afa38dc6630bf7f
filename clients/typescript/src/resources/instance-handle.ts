import type { Answer } from '../answer.ts';
import type { Call } from '../call.ts';
import type {
  CallOptions,
  ConditionalOptions,
  KeyedOptions,
  ProcessOptions,
  ResetOptions,
} from '../call-options.ts';
import type { Caller } from '../caller.ts';
import { canonical } from '../canonical.ts';
import { EventStream, type EventsOptions } from '../events/event-stream.ts';
import { ContractGuard, type GuardOptions } from '../guard.ts';
import { HeldContract } from '../held-contract.ts';
import { instancePath } from '../instance-path.ts';
import type {
  BatchObservation,
  BatchProcessed,
  BatchResult,
  BatchStates,
  Contract,
  CurrentSnapshot,
  DriftEvent,
  DriftQuery,
  HistoryQuery,
  HistoryRecord,
  Observation,
  Pagination,
  Processed,
  ResetDone,
  ResetMode,
  States,
  WholePagination,
} from '../models.ts';
import { nextByCursor, type Page, pageOf, rowsOf } from '../pages.ts';
import { conditionalResultOf, processResultOf, resultOf } from '../read-result.ts';
import type { NotModified, ProcessResult, Result } from '../result.ts';
import { eachRowOnce } from '../rows-once.ts';
import { uuid7 } from '../uuid7.ts';

/** For a batch: whether every state in between is answered. */
export type BatchOptions = ProcessOptions & { readonly includeIntermediate?: boolean | undefined };

/**
 * One instance (interface 4.2). Making a handle asks nothing of the service: any call throws `NotFoundError`
 * where the account has no instance of this id.
 */
export class InstanceHandle {
  /** `inst_` and 16 hexadecimal digits. */
  readonly id: string;
  readonly #caller: Caller;
  readonly #held = new HeldContract();

  /** Made by `client.instance(id)`. */
  constructor(caller: Caller, id: string) {
    this.#caller = caller;
    this.id = id;
  }

  /**
   * Sends an observation: one cycle, sent again under the same key until its outcome is clear. One that comes
   * less than 1.000 s after the previous one is `throttled` in the result and changes nothing.
   * Throws `InvalidRequestError` for one that breaks a rule, `QuotaExceededError` where no cycle is left.
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
   * Sends 1 to 100 observations, applied in order as one unit: all or nothing. Either all have a `timestamp`,
   * ascending and at least 1.000 s apart, or none has. One whose `idempotency_key` the service has already is not
   * applied again; `results` says of each what became of it. Throws `InvalidRequestError` whose `field` is like
   * `observations[3].timestamp`.
   */
  processBatch(
    observations: readonly BatchObservation[],
    options?: BatchOptions & { readonly includeIntermediate?: false | undefined },
  ): Promise<ProcessResult<BatchProcessed>>;
  /** The same with the state after each observation. */
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

  /** The state after the last cycle; it is not projected to the present time. */
  snapshot(options?: CallOptions): Promise<Result<CurrentSnapshot>>;
  /** The same, or "not modified" where `ifNoneMatch` names the present version. */
  snapshot(options: ConditionalOptions): Promise<Result<CurrentSnapshot> | NotModified>;
  async snapshot(
    options: CallOptions & Partial<ConditionalOptions> = {},
  ): Promise<Result<CurrentSnapshot> | NotModified> {
    return conditionalResultOf(await this.#get('/snapshot', options));
  }

  /** What the agent should and should not do now. */
  contract(options?: CallOptions): Promise<Result<Contract>>;
  /** The same, or "not modified" where `ifNoneMatch` names the present version. */
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
   * Begins a new generation: `initial` as created, `default` at the last stable state. Throws `ConflictError`
   * where `ifMatch` names another version.
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

  /** A page of the observations, newest first; it may have fewer rows than `limit` and a next page. */
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

  /** All observations, newest first, each once also while new ones come; one page at a time in memory. */
  iterateHistory(
    query: HistoryQuery = {},
    options: CallOptions = {},
  ): AsyncIterable<HistoryRecord> {
    const whole = { limit: PAGE_ROWS, ...query };
    return eachRowOnce(rowsOf(() => this.history(whole, options)));
  }

  /** A page of the drift events, newest first; without `limit` and `offset` up to 1,000 of them. */
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

  /** All drift events, newest first, each once also while new ones come; one page at a time in memory. */
  iterateDrift(query: DriftQuery = {}, options: CallOptions = {}): AsyncIterable<DriftEvent> {
    const whole = { limit: PAGE_ROWS, ...query };
    return eachRowOnce(rowsOf(() => this.drift(whole, options)));
  }

  /** What 1 to 20 observations would do, applied to a copy that is thrown away. Nothing changes. */
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

  /** Follows the instance; see `EventStream`. Opening a stream costs one request each time, and no cycle. */
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

  /** A guard that keeps the newest contract that any answer through this handle has brought. */
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

/** Rows of a page where an iterator chooses: as many as the service gives at once. Source: interface 8.4. */
const PAGE_ROWS = 1_000;

function keyOf({ idempotencyKey }: KeyedOptions): Record<'idempotency-key', string> {
  return { 'idempotency-key': idempotencyKey ?? uuid7() };
}

/** The state after a batch. */
function lastOf(data: BatchResult): Pick<Processed, 'contract' | 'snapshot'> | undefined {
  return 'states' in data ? (data as BatchStates).states.at(-1) : (data as BatchProcessed);
}
