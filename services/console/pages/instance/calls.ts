import type { HistoryRow } from '#pages/instance/events';
import type { Report } from '#pages/instances/answers';
import { exchange, idIn, post, send } from '#pages/shell/api';

/** An observation as it is sent: what is left out has the default of the API. */
export type Observation = {
  readonly mode_target: string;
  readonly signal_strength: number;
  readonly confidence?: number;
  readonly context?: Readonly<Record<string, unknown>>;
  readonly timestamp?: string;
};

/** What an observation was answered, and whether it came too early, which changes nothing. */
export type Processed = {
  readonly report: Report;
  readonly isThrottled: boolean;
  /** When the next one is taken, of a throttled one. */
  readonly retryAfterSeconds: number | undefined;
};

/** A page of the history, newest first; all generations count in `total` where all are asked for. */
type HistoryPage = {
  readonly data: readonly HistoryRow[];
  readonly pagination: { readonly total: number };
};

type HistoryQuery = {
  readonly offset: number;
  readonly limit: number;
  readonly generation: 'current' | 'all';
};

/** What the page of one instance asks of the console, as `/v1` answers it. Throws `Refused`. */
export const instanceCalls = {
  /** Sent again under the same key it is one observation. */
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
  /** The state after each of them, of a copy that is thrown away. */
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
