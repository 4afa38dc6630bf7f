import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Processed as Report } from '#clients/typescript/src/models';
import { getQuestions, listPersonas, submitTest } from '#edge/endpoints/test';
import { reportJson } from '#engine/json';
import { advance, type Observation } from '#identity/model';
import { MODE_KEYS } from '#identity/modes';
import { newReport, readReport } from '#identity/report';
import { createState } from '#identity/state';
import type { AddRoute } from '#test/console/pages/fakes/add-route';

/** An instance of the fake, with a state computed by the real model. */
export type FakeInstance = {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly created_at: string;
  readonly updated_at: string;
  readonly report: Report;
};

type Sketch = {
  readonly name: string;
  readonly description?: string;
  readonly tags?: Readonly<Record<string, string>>;
  /** Mode strengths in model order; undefined for all 0. */
  readonly strengths?: readonly number[];
  readonly energy?: number;
  /** Observations, one minute apart. */
  readonly observed?: readonly Observation[];
};

/** Instance number `count` of an account. Creation times are an hour apart. */
export function fakeInstance(count: number, sketch: Sketch): FakeInstance {
  const { name, description = '', tags = {}, strengths = [], energy = 0.8, observed = [] } = sketch;
  const id = `inst_${count.toString(16).padStart(16, '0')}`;
  const modeStrengths = MODE_KEYS.map((_, mode) => strengths[mode] ?? 0);
  const state = createState({ modeStrengths, energyLevel: energy });
  for (const observation of observed) advance(state, observation, 60, state);
  const report = newReport();
  readReport(state, report);
  const createdAt = new Date(Date.UTC(2026, 0, 10, count)).toISOString();
  return {
    ...{ id, name, description, tags, created_at: createdAt, updated_at: createdAt },
    report: JSON.parse(reportJson(id, report)) as Report,
  };
}

/** Instances with different names, oldest first. */
export function fakeInstances(count: number): FakeInstance[] {
  return Array.from({ length: count }, (_, index) =>
    fakeInstance(index + 1, { name: `Instance ${index + 1}` }),
  );
}

/** Instances served by the fake routes. */
export type InstancesHeld = { instances: FakeInstance[] };

/** Creates an instance and adds it to the served instances. */
type Make = (wanted: Required<Pick<Sketch, 'name' | 'description' | 'strengths'>>) => FakeInstance;

/** Adds routes for instances, personas and the test, with the answers of `/v1`. */
export function addInstanceRoutes(add: AddRoute, held: InstancesHeld, make: Make): void {
  add('GET', '/api/instances', ({ query }) => pageOf(held, query as Record<string, string>));
  addCreation(add, make);
  const one = (path: string, of: (found: FakeInstance) => unknown) =>
    add('GET', `/api/instances/:id${path}`, ({ params }, reply) => {
      const found = held.instances.find(({ id }) => id === (params as { id: string }).id);
      if (found !== undefined) return { data: of(found) };
      return reply.status(404).send({ error: 'not_found', message: 'instance not found' });
    });
  one('', instanceOf);
  one('/snapshot', ({ report }) => report.snapshot);
  one('/contract', ({ report }) => report.contract);
  add('GET', '/api/personas', () => answered(listPersonas, {}));
  add('GET', '/api/test/questions', () => answered(getQuestions, {}));
  add('POST', '/api/test/submit', ({ body }) => answered(submitTest, body));
}

/** Newest drift event of an instance, if its last cycle had one. */
export function newestDriftsOf({ report: { snapshot, drift } }: FakeInstance): object[] {
  return drift.level === 'D0' ? [] : [{ cycle: snapshot.cycle, drift_level: drift.level }];
}

/** Answer of a real endpoint that needs no engine. */
async function answered({ handler }: typeof submitTest, body: unknown): Promise<object> {
  if (handler.kind !== 'stateless') throw new Error('the endpoint needs an engine');
  const answer = handler.answer as (request: { body: unknown }) => Promise<object>;
  return await answer({ body });
}

/** Adds the create route. A repeated idempotency key returns the same instance. */
function addCreation(add: AddRoute, make: Make): void {
  const made = new Map<unknown, FakeInstance>();
  const create = ({ body, headers }: FastifyRequest, reply: FastifyReply) => {
    const key = headers['idempotency-key'];
    const { name, description, initial_config: config } = body as Wanted;
    if (name === 'refused') {
      const details = { field: 'name', reason: 'invalid_text' };
      const message = 'must be text that can be shown';
      return reply.status(422).send({ error: 'invalid_request', message, details });
    }
    const strengths = MODE_KEYS.map((mode) => config?.mode_strengths?.[mode] ?? 0);
    const sketch = { name, description: description ?? '', strengths };
    const instance = made.get(key) ?? make(sketch);
    made.set(key, instance);
    return reply.status(201).send({ data: instanceOf(instance) });
  };
  add('POST', '/api/instances', create);
}

type Wanted = {
  readonly name: string;
  readonly description?: string;
  readonly initial_config?: { readonly mode_strengths?: Readonly<Record<string, number>> };
};

function instanceOf({ report: { snapshot }, ...texts }: FakeInstance) {
  const { cycle, energy_level, stress_state, stability_index } = snapshot;
  return { ...texts, cycle_count: cycle, energy_level, stress_state, stability_index };
}

function pageOf({ instances }: InstancesHeld, query: Record<string, string>) {
  const { search = '', sort, order } = query;
  const limit = Number(query['limit']);
  const offset = Number(query['offset'] ?? query['cursor'] ?? 0);
  const matching = instances.filter(
    ({ id, name }) => id === search || name.toLowerCase().includes(search.toLowerCase()),
  );
  const field = sort === 'name' ? 'name' : 'created_at';
  const sorted = matching.toSorted((a, b) => (a[field] < b[field] ? -1 : 1));
  const rows = (order === 'asc' ? sorted : sorted.toReversed()).slice(offset, offset + limit);
  const total = matching.length;
  const listed = rows.map((row) => {
    const { updated_at: changedAt, stability_index: _, ...shown } = instanceOf(row);
    const { drift, contract } = row.report;
    const [leading = 'None'] = contract.dominant_modes;
    return { ...shown, drift_level: drift.level, dominant_mode: leading, changed_at: changedAt };
  });
  const hasMore = offset + rows.length < total;
  const next = hasMore ? String(offset + rows.length) : null;
  const pagination = { limit, offset, total, has_more: hasMore, next_cursor: next };
  return { data: listed, pagination };
}
