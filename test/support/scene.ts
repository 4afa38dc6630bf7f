import * as assert from 'uvu/assert';
import { documented } from '#test/support/api-document';
import { type Answer, type Caller, newCaller, type RequestedCaller } from '#test/support/caller';
import { type Service, sharedService, startService } from '#test/support/service';

/** A caller with the calls that most tests begin with. */
export type SceneCaller = Caller & {
  /** Creates an instance and answers its id. */
  createInstance(fields?: Record<string, unknown>): Promise<string>;
  /** Processes one observation that must be accepted, and answers its `data`. */
  process(id: string, observation: object): Promise<ReturnType<typeof JSON.parse>>;
};

/** A running service and one of its callers; every answer is checked against the document. */
export type Scene = {
  readonly service: Service;
  readonly caller: SceneCaller;
  /** A new account's caller, whose answers are checked as well. */
  readonly newCaller: (requested?: RequestedCaller) => Promise<SceneCaller>;
  /** Stops the service; the last suite of a file runs it when it is through. */
  readonly close: () => Promise<void>;
};

/** Starts a service for a test file alone, with further variables. */
export async function openScene(variables: Record<string, string> = {}): Promise<Scene> {
  const service = await startService(variables);
  return { ...(await sceneOf(service)), close: async () => service[Symbol.asyncDispose]() };
}

/** A caller of its own on the service that the files of this process share. */
export async function sharedScene(): Promise<Omit<Scene, 'close'>> {
  return await sceneOf(await sharedService());
}

async function sceneOf(service: Service): Promise<Omit<Scene, 'close'>> {
  const newCaller = (requested?: RequestedCaller) => newDocumentedCaller(service, requested);
  return { service, caller: await newCaller(), newCaller };
}

/** A new account's caller whose answers are checked against the API document. */
export async function newDocumentedCaller(
  service: Service,
  requested: RequestedCaller = {},
): Promise<SceneCaller> {
  return documentedCaller(await newCaller(service, requested));
}

/** The same caller, with every answer checked against the API document. */
export function documentedCaller(caller: Caller): SceneCaller {
  const checked = documented(caller);
  return {
    ...checked,
    createInstance: (fields) => createInstance(checked, fields),
    process: (id, observation) => process(checked, id, observation),
  };
}

/** Creates an instance and answers its id. */
export async function createInstance(
  caller: Caller,
  fields: Record<string, unknown> = {},
): Promise<string> {
  const answer = await caller.send('POST', '/instances', { json: { name: 'Ada', ...fields } });
  assert.is(answer.status, 201, answer.text);
  return answer.body.data.id;
}

/** A time in the past from which tests count, Unix milliseconds. */
export const MORNING_MS = Date.parse('2026-01-15T08:00:00Z');

/** `MORNING_MS` and some seconds as a caller writes it. */
export function morning(seconds = 0): string {
  return new Date(MORNING_MS + seconds * 1_000).toISOString();
}

/** A plain observation, some seconds after `MORNING_MS`. */
export function observationAt(seconds: number, fields: Record<string, unknown> = {}) {
  return { mode_target: 'ORDER', signal_strength: 0.7, timestamp: morning(seconds), ...fields };
}

/** Processes one observation that must be accepted, and answers its `data`. */
export async function process(
  caller: Caller,
  id: string,
  observation: object,
): Promise<ReturnType<typeof JSON.parse>> {
  const answer = await caller.send('POST', `/instances/${id}/process`, { json: observation });
  assert.is(answer.status, 200, answer.text);
  assert.is(answer.headers.get('x-throttled'), null, 'was throttled');
  return answer.body.data;
}

/** Asserts status, code and the whole of `details`; `field` and `reason` or whatever is due. */
export function assertRefused(
  answer: Answer,
  status: number,
  code: string,
  details?: Record<string, unknown>,
): void {
  assert.is(answer.status, status, answer.text);
  assert.is(answer.body.error, code);
  assert.equal(answer.body.details, details);
  assert.ok(answer.body.message.length > 0);
}

/** A limit header as a number. */
export function limitOf(answer: Answer, name: 'limit' | 'remaining' | 'reset' | 'monthly'): number {
  const header = name === 'monthly' ? 'x-monthly-remaining' : `x-ratelimit-${name}`;
  return Number(answer.headers.get(header) ?? Number.NaN);
}
