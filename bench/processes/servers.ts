import { type Call, HttpCaller } from '#bench/load/http-caller';
import { INSTANCES, ObservationPlan } from '#bench/load/observation-plan';
import { at, isObject, type JsonObject } from '#bench/load/process-answer';
import type { Measured } from '#bench/measures/cpu-time';
import { Child, environment } from '#bench/processes/child';
import { freePorts } from '#bench/processes/free-ports';
import { untilAnswered } from '#bench/processes/readiness';
import type { Service } from '#bench/processes/service';
import { withProgress } from '#bench/progress';
import { MODE_KEYS } from '#identity/modes';

/** Compared servers, by their letters in the report. */
export const LABELS = [
  ...(['c', 's', 'sk', 'p', 'pk', 'd', 'd3', 'k', 'e', 'ke', 'pg', 'pgk'] as const),
  ...(['cas', 'cask', 'redis', 'redisk', 'pekko', 'pekkok', 'restate', 'restatek'] as const),
  ...(['dapr', 'daprk'] as const),
  ...(['d50', 'k50', 'pg50', 'cas50'] as const),
];

/** Letter of a server. */
export type Label = (typeof LABELS)[number];

/** Title of each server. */
export const TITLES: Readonly<Record<Label, string>> = {
  c: 'Fastify with ajv, stateless',
  s: 'service, standalone',
  sk: 'as (s), with keys',
  p: 'service, edge + limiter + engine',
  pk: 'as (p), with keys',
  d: 'service on Cassandra and NATS',
  d3: 'as (d), three engines',
  k: 'as (d), with keys',
  e: 'service on one SQLite file',
  ke: 'as (e), with keys',
  pg: 'Fastify + PostgreSQL, row lock',
  pgk: 'as (pg), with keys',
  cas: 'Fastify + PostgreSQL, compare-and-set',
  cask: 'as (cas), with keys',
  redis: 'Fastify + Redis, compare-and-set in a script',
  redisk: 'as (redis), with keys',
  pekko: 'Pekko event sourcing on Cassandra, without our model, so it does less work',
  pekkok: 'as (pekko), with keys',
  restate: 'Restate virtual objects',
  restatek: 'as (restate), with keys',
  dapr: 'Dapr 1.14 actors on Redis',
  daprk: 'as (dapr), with keys',
  d50: 'as (d), 50,000 instances',
  k50: 'as (k), 50,000 instances',
  pg50: 'as (pg), 50,000 instances',
  cas50: 'as (cas), 50,000 instances',
};

/** Path of the service's process call. */
export const PROCESS_PATH = '/v1/instances/{id}/process';

/** A running server and its instances. */
export type Server = {
  readonly label: Label;
  readonly address: string;
  readonly processes: readonly Measured[];
  readonly plan: ObservationPlan;
  /** Path of a process call with `{id}` for the instance; by default the service's path. */
  readonly processPath?: string;
  /** Address of the instance list; by default `address`. */
  readonly listAddress?: string;
  /** Whether a process of its own needs minutes of load for its JIT compilers. */
  readonly isOnJvm?: boolean;
  /** Whether every request carries a new `Idempotency-Key`. */
  readonly isKeyed?: boolean;
  /** Whether the server writes delayed checkpoints, as the service does on a store. */
  readonly isCheckpointing?: boolean;
  /** Source of cycle counters; undefined for a stateless reference. */
  readonly service: Pick<Service, 'metricsUrls'> | undefined;
};

/** Starts (c), a stateless server, which sends the captured answer in `answerFile`. */
export async function startReference(
  files: { readonly folder: string; readonly answerFile: string },
  instanceCount = INSTANCES,
): Promise<Server & AsyncDisposable> {
  await using opening = new AsyncDisposableStack();
  const label = 'c';
  const [port = 0] = await freePorts(1);
  const child = opening.use(
    new Child({
      name: 'fastify',
      program: process.execPath,
      args: ['bench/references/fastify.ts', `${port}`, files.answerFile],
      env: environment(),
    }),
  );
  const address = `http://127.0.0.1:${port}`;
  await untilAnswered(child, () => fetch(address));
  // Invented instances: a stateless reference looks up no instance.
  const instances = Array.from({ length: instanceCount }, (_, i) => ({
    id: `inst_${i.toString(16).padStart(16, '0')}`,
    modeStrengths: new Array<number>(7).fill(0.5),
  }));
  const key = `svc_sk_${'0'.repeat(50)}`;
  const plan = await ObservationPlan.write({ instances, key, folder: files.folder, name: label });
  const opened = opening.move();
  const service = undefined;
  return {
    label,
    address,
    processes: [child],
    plan,
    service,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Number of instances, and a printer for progress lines. */
type Preparation = {
  readonly instanceCount?: number;
  readonly print?: (line: string) => void;
};

/** Creates instances with the personas' profiles on a running service. */
export async function prepareService(
  label: Label,
  service: Service,
  folder: string,
  { instanceCount = INSTANCES, print = () => {} }: Preparation = {},
): Promise<Server> {
  using caller = new HttpCaller(service.address, service.key);
  const profiles = await modeProfiles(caller);
  const profileOf = (i: number) => profiles[i % profiles.length] ?? {};
  const callOf = (i: number): Call => {
    const config = { mode_strengths: profileOf(i) };
    const body = JSON.stringify({ name: `bench ${i}`, initial_config: config });
    return { method: 'POST', path: '/v1/instances', body };
  };
  let created = 0;
  const idOf = (answer: unknown) => {
    created += 1;
    return String(at(answer, ['data', 'id']));
  };
  const line = () => `${label}: created ${created} of ${instanceCount} instances`;
  const ids = await withProgress(line, print, () => caller.sendAll(instanceCount, callOf, idOf));
  const instances = ids.map((id, i) => {
    const modeStrengths = MODE_KEYS.map((mode) => Number(profileOf(i)[mode]));
    return { id, modeStrengths };
  });
  const plan = await ObservationPlan.write({ instances, key: service.key, folder, name: label });
  return { label, address: service.address, processes: service.processes, plan, service };
}

/** Mode profiles of the personas, as realistic starting points (interface 2.8). */
async function modeProfiles(caller: HttpCaller): Promise<JsonObject[]> {
  const personas = at(await caller.send({ method: 'GET', path: '/v1/personas' }), ['data']);
  if (!Array.isArray(personas)) throw new Error('GET /v1/personas returned no list');
  return personas.map((persona) => at(persona, ['mode_profile'])).filter(isObject);
}
