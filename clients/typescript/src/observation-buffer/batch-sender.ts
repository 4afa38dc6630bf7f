import type { IdentityEngine } from '../client.ts';
import { apiError, InvalidRequestError, NotFoundError } from '../errors.ts';
import type {
  BatchObservation,
  BatchProcessed,
  ErrorDetails,
  FleetResult,
  ProcessedFleet,
} from '../models.ts';
import type { InstanceHandle } from '../resources/instance-handle.ts';
import type { ProcessResult, Result } from '../result.ts';
import type { BufferClock } from './buffer-clock.ts';
import { INTERVAL_MS } from './spacing.ts';

/**
 * Maximum observations of a batch that joins a fleet call. A larger batch costs less as a call of
 * its own, because the service applies a batch in one piece.
 */
const JOINING_MAX = 4;

/** Maximum observations of a fleet call. The largest observations then fit into its body. */
const FLEET_MAX = 100;

/** Options of a batch. */
type Sending = {
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
};

/** A batch that waits for other batches. */
type Waiting = Sending & {
  readonly instance: InstanceHandle;
  readonly observations: readonly BatchObservation[];
  readonly resolve: (result: ProcessResult<BatchProcessed>) => void;
  readonly reject: (error: unknown) => void;
};

/** Sends batches. Small batches of several instances that are due together share a fleet call. */
export class BatchSender {
  readonly #client: IdentityEngine;
  readonly #clock: BufferClock;
  readonly #waiting: Waiting[] = [];
  readonly #joinMs: number;
  /** Whether batches may share calls: wanted by the caller, and served by the service. */
  #isShared: boolean;

  /** `joinMs`: time to wait for batches of other instances, in milliseconds. */
  constructor(client: IdentityEngine, clock: BufferClock, joinMs: number, isShared: boolean) {
    this.#client = client;
    this.#clock = clock;
    this.#joinMs = joinMs;
    this.#isShared = isShared;
  }

  /** Sends a batch. Throws the errors of `instance.processBatch`. */
  async send(
    instance: InstanceHandle,
    observations: readonly BatchObservation[],
    sending: Sending,
  ): Promise<ProcessResult<BatchProcessed>> {
    if (!this.#isShared || observations.length > JOINING_MAX) {
      return await instance.processBatch(observations, sending);
    }
    return await new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) this.#clock.after(this.#joinMs, () => this.#flush());
      this.#waiting.push({ ...sending, instance, observations, resolve, reject });
    });
  }

  #flush(): void {
    const waiting = this.#waiting.splice(0);
    while (waiting.length > 0) {
      const together: Waiting[] = [];
      let count = 0;
      for (const each of waiting) {
        count += each.observations.length;
        if (count > FLEET_MAX) break;
        together.push(each);
      }
      waiting.splice(0, together.length);
      void this.#sendTogether(together);
    }
  }

  async #sendTogether(batches: readonly Waiting[]): Promise<void> {
    const [first] = batches;
    if (first === undefined) return;
    if (batches.length === 1 || !this.#isShared) {
      await Promise.all(batches.map(alone));
      return;
    }
    const observations = batches.flatMap(({ instance, observations: each }) =>
      each.map((observation) => ({ ...observation, instance_id: instance.id })),
    );
    try {
      // The buffer itself repeats failed batches: a slow engine must not delay the other instances.
      const options = { signal: first.signal, includeState: true, attemptsMax: 1 };
      const answer = await this.#client.process(observations, options);
      settle(batches, answer);
    } catch (error) {
      // The service, or its release, does not serve fleet calls.
      if (!(error instanceof NotFoundError || error instanceof InvalidRequestError)) {
        for (const { reject } of batches) reject(error);
        return;
      }
      this.#isShared = false;
      await Promise.all(batches.map(alone));
    }
  }
}

async function alone({ instance, observations, resolve, reject, ...sending }: Waiting) {
  await instance.processBatch(observations, sending).then(resolve, reject);
}

/** Gives each batch its results. */
function settle(batches: readonly Waiting[], answer: Result<ProcessedFleet>): void {
  let from = 0;
  for (const { observations, instance, resolve, reject } of batches) {
    const results = answer.data.results.slice(from, from + observations.length);
    from += observations.length;
    try {
      const result = batchResultOf(results, answer);
      const { contract } = result.data;
      if (contract !== undefined) instance.guard().update(contract);
      resolve(result);
    } catch (error) {
      reject(error);
    }
  }
}

const isApplied = ({ status }: FleetResult) => status === 'applied' || status === 'replayed';

/** Result of a batch whose observations were in a fleet call. Throws the refusal of the batch. */
function batchResultOf(
  results: readonly FleetResult[],
  { data: _, ...facts }: Result<ProcessedFleet>,
): ProcessResult<BatchProcessed> {
  const at = results.findIndex((result) => !isApplied(result));
  const problem = results[at];
  if (problem !== undefined && problem.status !== 'throttled') throw refusalOf(problem, at, facts);
  const { snapshot, contract, drift } = results.at(-1) ?? {};
  const throttled = problem && {
    retryAfterMs: 1_000 * (problem.retry_after ?? INTERVAL_MS / 1_000),
  };
  const data = {
    ...{ snapshot, contract, drift },
    processed_count: problem ? 0 : results.filter(({ status }) => status === 'applied').length,
    // Of a throttled batch, applied observations are known from now on.
    results: results.map((result, index) => {
      const known = problem ? 'replayed' : result.status;
      return { index, status: isApplied(result) ? known : 'throttled' };
    }),
  } as BatchProcessed;
  return { ...facts, data, throttled };
}

/** The error of an observation, with its field in the batch. */
function refusalOf(
  { refusal, status, http_status: httpStatus = 503, retry_after: retryAfterS }: FleetResult,
  index: number,
  { requestId, headers, limits, attempts }: Omit<Result<ProcessedFleet>, 'data'>,
): Error {
  const details = refusal?.details as ErrorDetails | undefined;
  const field = details?.field?.replace(/^observations\[\d+\]/, `observations[${index}]`);
  return apiError({
    code: refusal?.error ?? 'service_unavailable',
    message: refusal?.message ?? 'not attempted',
    status: httpStatus,
    details: details && { ...details, ...(field !== undefined && { field }) },
    ...{ retryAfterS, requestId, headers, limits, attempts },
    mayHaveHappened: status === 'unknown',
  });
}
