import type {
  Contract,
  DriftEvent,
  Instance,
  InstanceList,
  InstanceWanted,
  Persona,
  Questionnaire,
  Report,
  TestResult,
} from '#pages/instances/answers';
import { get, idIn, post, send } from '#pages/shell/api';

/** An answer to one question of the personality test. */
type TestAnswer = { readonly question_id: string; readonly value: number };

/**
 * Calls about instances. Requests and answers are the same as under `/v1`. A refused call throws
 * `Refused`.
 */
export const instanceApi = {
  list: (query: URLSearchParams) => send<InstanceList>('GET', `/instances?${query}`),
  /** Creates an instance. A retry with the same idempotency key creates no second instance. */
  create: (wanted: InstanceWanted, idempotencyKey: string) =>
    post<{ readonly id: string }>('/instances', wanted, { 'idempotency-key': idempotencyKey }),
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
  personas: () => get<readonly Persona[]>('/personas'),
  questions: () => get<Questionnaire>('/test/questions'),
  submitTest: (version: string, answers: readonly TestAnswer[]) =>
    post<TestResult>('/test/submit', { version, answers }),
};
