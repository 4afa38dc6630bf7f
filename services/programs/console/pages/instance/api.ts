import type {
  Contract,
  DriftEvent,
  Instance,
  PastStates,
  Persona,
  RenameInstance,
  Processed as Report,
  UpdatedInstance,
} from '#clients/typescript/src/models';
import type { HistoryRow } from '#pages/instance/events';
import { exchange, get, idIn, post, send } from '#pages/shell/api';

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
 * API calls about one instance, and the personas. Requests and answers are the same as under `/v1`. A refused call
 * throws `Refused`.
 */
export const instanceApi = {
  instance: (id: string) => get<Instance>(`/instances/${idIn(id)}`),
  /**
   * Checks whether the instance can be read, and throws `Refused` otherwise. This call does not
   * extend the session, because no person started the call.
   */
  look: (id: string) =>
    send('GET', `/instances/${idIn(id)}`, undefined, { 'x-unattended': 'true' }),
  snapshot: (id: string) => get<Report['snapshot']>(`/instances/${idIn(id)}/snapshot`),
  contract: (id: string) => get<Contract>(`/instances/${idIn(id)}/contract`),
  newestDrift: async (id: string): Promise<DriftEvent | undefined> =>
    (await get<readonly DriftEvent[]>(`/instances/${idIn(id)}/drift?limit=1&offset=0`))[0],
  /** At most `points` stored states of the present generation in even steps, oldest first. */
  points: (id: string, points: number) =>
    get<PastStates>(`/instances/${idIn(id)}/states?points=${points}`),
  /** States of the present generation at 1 to 10 cycles. */
  statesAt: (id: string, cycles: readonly number[]) =>
    get<PastStates>(`/instances/${idIn(id)}/states?cycles=${cycles.join(',')}`),
  /** Changes name, description or tags. */
  update: async (id: string, change: RenameInstance) =>
    (await send<{ data: UpdatedInstance }>('PATCH', `/instances/${idIn(id)}`, change)).data,
  personas: () => get<readonly Persona[]>('/personas'),
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
