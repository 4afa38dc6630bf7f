import type {
  Contract,
  DriftEvent,
  ForkedInstance,
  ForkInstance,
  Instance,
  PastStates,
  Persona,
  RenameInstance,
  Processed as Report,
  UpdatedInstance,
} from '#clients/typescript/src/models';
import type { HistoryRow } from '#pages/instance/events';
import { exchange, get, idIn, post, Refused, send } from '#pages/shell/api';

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

/** A page of rows, newest first. `total` covers all generations if all are requested. */
type RowsPage<Row> = {
  readonly data: readonly Row[];
  readonly pagination: { readonly total: number; readonly next_cursor?: string | null };
};

/** Maximum number of rows in an answer. */
const ROWS_MAX = 1_000;

type HistoryQuery = {
  readonly offset: number;
  readonly limit: number;
  readonly generation: 'current' | 'all';
};

/** Tags of an instance: values by key. */
type Tags = Readonly<Record<string, string>>;

/** Maximum number of tries to change tags that other callers change too. */
const TAG_ATTEMPTS_MAX = 5;

/**
 * API calls about one instance, and the personas. Requests and answers are the same as under `/v1`.
 * A refused call throws `Refused`.
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
  /**
   * Exact states after at most 10 cycles of a generation, in the given order. Default: the present
   * generation.
   */
  statesAt: (id: string, cycles: readonly number[], generation?: number) =>
    get<PastStates>(
      `/instances/${idIn(id)}/states?cycles=${cycles.join(',')}${ofGeneration(generation)}`,
    ),
  /** At most `points` stored states of a generation in even steps, oldest first. */
  points: (id: string, points: number, generation?: number) =>
    get<PastStates>(`/instances/${idIn(id)}/states?points=${points}${ofGeneration(generation)}`),
  /** Observations of all generations, newest first: the first page, or the page at a cursor. */
  observations: (id: string, cursor: string | undefined) =>
    send<RowsPage<HistoryRow>>('GET', `/instances/${idIn(id)}/history?${allRows(cursor)}`),
  /** Drift events of all generations, newest first: the first page, or the page at a cursor. */
  drifts: (id: string, cursor: string | undefined) =>
    send<RowsPage<DriftEvent>>('GET', `/instances/${idIn(id)}/drift?${allRows(cursor)}`),
  /**
   * Creates an instance in a past state. A retry with the same idempotency key creates no further
   * instance.
   */
  fork: (id: string, fork: ForkInstance, idempotencyKey: string) =>
    post<ForkedInstance>(`/instances/${idIn(id)}/fork`, fork, {
      'idempotency-key': idempotencyKey,
    }),
  /** Changes name, description or tags. */
  update: async (id: string, change: RenameInstance) =>
    (await send<{ data: UpdatedInstance }>('PATCH', `/instances/${idIn(id)}`, change)).data,
  /**
   * Changes the tags of an instance, starting from its present tags. If another caller changes the
   * instance meanwhile, reads and changes the tags again. Returns the tags before the change.
   */
  async changeTags(id: string, by: (tags: Tags) => Tags): Promise<Tags> {
    for (let attempt = 1; ; attempt += 1) {
      const path = `/instances/${idIn(id)}`;
      const { answer, headers } = await exchange<{ data: Instance }>('GET', path, undefined);
      const { tags = {} } = answer.data;
      try {
        const guard = { 'if-match': headers.get('etag') ?? '*' };
        await send('PATCH', path, { tags: by(tags) }, guard);
        return tags;
      } catch (error) {
        const isStale = error instanceof Refused && error.reason === 'version_mismatch';
        if (!isStale || attempt >= TAG_ATTEMPTS_MAX) throw error;
      }
    }
  },
  /** The personas, loaded once for all pages. */
  personas: () => personasOnce(),
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
    send<RowsPage<HistoryRow>>(
      'GET',
      `/instances/${idIn(id)}/history?offset=${offset}&limit=${limit}&generation=${generation}`,
    ),
  /** Resets an instance. A retry with the same idempotency key does not reset again. */
  reset: (id: string, mode: string, idempotencyKey: string) =>
    post(`/instances/${idIn(id)}/reset`, { mode }, { 'idempotency-key': idempotencyKey }),
  remove: (id: string) => send('DELETE', `/instances/${idIn(id)}`),
};

function allRows(cursor: string | undefined): string {
  const page = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
  return `limit=${ROWS_MAX}&generation=all${page}`;
}

let personas: Promise<readonly Persona[]> | undefined;

/** Loads the personas with the first call. The next call repeats a failed load. */
function personasOnce(): Promise<readonly Persona[]> {
  personas ??= get<readonly Persona[]>('/personas').catch((error: unknown) => {
    personas = undefined;
    throw error;
  });
  return personas;
}

/** Query parameter of a generation. Empty for the present generation. */
const ofGeneration = (generation: number | undefined): string =>
  generation === undefined ? '' : `&generation=${generation}`;
