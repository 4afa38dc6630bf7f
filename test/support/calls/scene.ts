import * as assert from 'uvu/assert';
import { documented } from '#test/support/calls/api-document';
import {
  type Answer,
  type Caller,
  newCaller,
  type RequestedCaller,
} from '#test/support/calls/caller';
import { type Service, sharedService, startService } from '#test/support/servers/service';

/** A caller with common calls. */
export type SceneCaller = Caller & {
  /** Creates an instance; returns its id. */
  createInstance(fields?: Record<string, unknown>): Promise<string>;
  /** Processes one observation, which must be accepted; returns its `data`. */
  process(id: string, observation: object): Promise<ReturnType<typeof JSON.parse>>;
};

/** A running service with one caller. Every answer is checked against the API document. */
export type Scene = {
  readonly service: Service;
  readonly caller: SceneCaller;
  /** Creates an account. Answers to its caller are also checked. */
  readonly newCaller: (requested?: RequestedCaller) => Promise<SceneCaller>;
  /** Stops the service. The file's last suite calls `close`. */
  readonly close: () => Promise<void>;
};

/** Starts a service for one test file, with further variables. */
export async function openScene(variables: Record<string, string> = {}): Promise<Scene> {
  const service = await startService(variables);
  return { ...(await sceneOf(service)), close: async () => service[Symbol.asyncDispose]() };
}

/** A scene with a new caller, on the service that all files in this process share. */
export async function sharedScene(): Promise<Omit<Scene, 'close'>> {
  return await sceneOf(await sharedService());
}

async function sceneOf(service: Service): Promise<Omit<Scene, 'close'>> {
  const newCaller = (requested?: RequestedCaller) => newDocumentedCaller(service, requested);
  return { service, caller: await newCaller(), newCaller };
}

/** Creates an account. Every answer to its caller is checked against the API document. */
export async function newDocumentedCaller(
  service: Service,
  requested: RequestedCaller = {},
): Promise<SceneCaller> {
  return documentedCaller(await newCaller(service, requested));
}

/** Wraps a caller so that every answer is checked against the API document. */
export function documentedCaller(caller: Caller): SceneCaller {
  const checked = documented(caller);
  return {
    ...checked,
    createInstance: (fields) => createInstance(checked, fields),
    process: (id, observation) => process(checked, id, observation),
  };
}

/** Creates an instance; returns its id. */
export async function createInstance(
  caller: Caller,
  fields: Record<string, unknown> = {},
): Promise<string> {
  const answer = await caller.send('POST', '/instances', { json: { name: 'Ada', ...fields } });
  assert.is(answer.status, 201, answer.text);
  return answer.body.data.id;
}

/** A past base time for tests, in Unix milliseconds. */
export const MORNING_MS = Date.parse('2026-01-15T08:00:00Z');

/** `MORNING_MS` plus `seconds`, as RFC 3339. */
export function morning(seconds = 0): string {
  return new Date(MORNING_MS + seconds * 1_000).toISOString();
}

/** A plain observation `seconds` after `MORNING_MS`. */
export function observationAt(seconds: number, fields: Record<string, unknown> = {}) {
  return { mode_target: 'ORDER', signal_strength: 0.7, timestamp: morning(seconds), ...fields };
}

/** Processes one observation, which must be accepted; returns its `data`. */
export async function process(
  caller: Caller,
  id: string,
  observation: object,
): Promise<ReturnType<typeof JSON.parse>> {
  const answer = await caller.send('POST', `/instances/${id}/process`, { json: observation });
  assert.is(answer.status, 200, answer.text);
  assert.is(answer.headers.get('x-throttled'), null, 'the observation was throttled');
  return answer.body.data;
}

/** Asserts status, code and the complete `details`. */
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

/** A limit header's numeric value. */
export function limitOf(answer: Answer, name: 'limit' | 'remaining' | 'reset' | 'monthly'): number {
  const header = name === 'monthly' ? 'x-monthly-remaining' : `x-ratelimit-${name}`;
  return Number(answer.headers.get(header) ?? Number.NaN);
}
