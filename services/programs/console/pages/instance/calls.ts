import type { HistoryRow } from '#pages/instance/events';
import type { Report } from '#pages/instances/answers';
import { exchange, idIn, post, send } from '#pages/shell/api';

/** Body of an observation request. Omitted fields get the defaults of the API. */
export type Observation = {
  readonly mode_target: string;
  readonly signal_strength: number;
  readonly confidence?: number;
  readonly context?: Readonly<Record<string, unknown>>;
  readonly timestamp?: string;
};

/** Result of an observation request. A throttled observation changes nothing. */
export type Processed = {
  readonly report: Report;
  readonly isThrottled: boolean;
  /** Seconds until the next observation is accepted, if throttled. */
  readonly retryAfterSeconds: number | undefined;
};

/** A page of the history, newest first. `total` covers all generations if all are requested. */
type HistoryPage = {
  readonly data: readonly HistoryRow[];
  readonly pagination: { readonly total: number };
};

type HistoryQuery = {
  readonly offset: number;
  readonly limit: number;
  readonly generation: 'current' | 'all';
};

/**
 * API calls of the instance page. Requests and answers are the same as under `/v1`. A refused call
 * throws `Refused`.
 */
export const instanceCalls = {
  /**
   * Sends an observation. A retry with the same idempotency key does not apply the observation
   * again.
   */
  async process(id: string, observation: Observation, idempotencyKey: string): Promise<Processed> {
    const path = `/instances/${idIn(id)}/process`;
    const key = { 'idempotency-key': idempotencyKey };
    const { answer, headers } = await exchange<{ data: Report }>('POST', path, observation, key);
    const wait = headers.get('retry-after');
    return {
      report: answer.data,
      isThrottled: headers.get('x-throttled') === 'true',
      retryAfterSeconds: wait === null ? undefined : Number(wait),
    };
  },
  /**
   * Applies observations to a copy, and returns the state after each observation. The copy is
   * discarded.
   */
  simulate: async (id: string, observations: readonly Observation[]) =>
    (await post<{ states: readonly Report[] }>(`/instances/${idIn(id)}/simulate`, { observations }))
      .states,
  history: (id: string, { offset, limit, generation }: HistoryQuery) =>
    send<HistoryPage>(
      'GET',
      `/instances/${idIn(id)}/history?offset=${offset}&limit=${limit}&generation=${generation}`,
    ),
  reset: (id: string, mode: string) => post(`/instances/${idIn(id)}/reset`, { mode }),
  remove: (id: string) => send('DELETE', `/instances/${idIn(id)}`),
};
