import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type {
  ForkedInstance,
  ForkInstance,
  PastState,
  PastStates,
  RenameInstance,
  Processed as Report,
} from '#clients/typescript/src/models';
import { followedState } from '#engine/instance/answers';
import { reportJson } from '#engine/json';
import { advance, MODELS, type Observation } from '#identity/model';
import { MODE_TARGETS } from '#identity/modes';
import { newReport, readReport } from '#identity/report';
import {
  createState,
  MODEL_VERSION,
  resetToDefault,
  resetToInitial,
  type State,
} from '#identity/state';
import type { HistoryRow } from '#pages/instance/events';
import type { AddRoute } from '#test/console/pages/fakes/add-route';
import {
  type FakeInstance,
  fakeInstance,
  newestDriftsOf,
} from '#test/console/pages/fakes/fake-instances';

/** Delay before a stream is reopened, in milliseconds. */
const RETRY_MS = 50;

/** Maximum time for a page to open or close a stream, in milliseconds. */
const CHANGE_MS_MAX = 20_000;

/** Time of the first observation. Further observations follow one minute apart. */
const BEGIN_MS = Date.UTC(2026, 0, 15, 12);

type Account = { instances: FakeInstance[]; readonly backends: Map<string, FakeBackend> };

/** Fake backend of an instance with event streams. The real model computes the states. */
export class FakeBackend {
  readonly instance: FakeInstance;
  /** The request’s `after` or `Last-Event-ID` for each opened stream; undefined without both. */
  readonly opened: (string | undefined)[] = [];
  readonly #account: Account;
  readonly #streams = new Set<ServerResponse>();
  readonly #changes = new EventEmitter();
  readonly #events: { readonly ordinal: number; readonly text: string }[] = [];
  readonly rows: HistoryRow[] = [];
  /** Drift events of all generations, oldest first. */
  readonly #drifts: ReturnType<typeof driftEvent>[] = [];
  /** States by generation and cycle. */
  readonly #past: PastState[][] = [];
  /** First cycle whose state can be read. */
  firstStored = 0;
  #state: State;
  #generation = 1;
  #ordinal = 0;
  /** Throttles every observation. */
  isThrottling = false;
  /** Observations up to this ordinal are deleted. */
  floor = 0;
  /** Number of cycles in the generated history; 0 for none. */
  madeUp = 0;

  constructor(account: Account, name: string, strengths: readonly number[], description = '') {
    this.#account = account;
    this.instance = fakeInstance(account.instances.length + 1, { name, description, strengths });
    this.#state = createState({ modeStrengths: strengths, energyLevel: 0.8 });
    account.instances = [...account.instances, this.instance];
    account.backends.set(this.instance.id, this);
    this.#keep(null);
  }

  /** Keeps the present state for `states`. */
  #keep(timestamp: string | null): void {
    const { report } = this;
    const { cycle } = report.snapshot;
    const of = this.#past[this.#generation - 1] ?? [];
    this.#past[this.#generation - 1] = of;
    of[cycle] = { ...report, cycle, timestamp, model_version: MODEL_VERSION };
  }

  get generation(): number {
    return this.#generation;
  }

  /** Answer of `GET /states`, or the first stored cycle if a wanted state is not stored. */
  states(query: Record<string, string>): PastStates | { readonly firstCycle: number } {
    const generation = Number(query['generation'] ?? this.#generation);
    const all = this.#past[generation - 1] ?? [];
    const head = { instance_id: this.instance.id, generation };
    if (query['cycles'] === undefined) {
      // The fake stores the first and the newest state, as for a young instance.
      const states = [...new Set([all[this.firstStored], all.at(-1)])];
      return { ...head, states: states.filter((state) => state !== undefined) };
    }
    const cycles = query['cycles'].split(',').map(Number);
    if (cycles.some((cycle) => cycle < this.firstStored)) return { firstCycle: this.firstStored };
    return { ...head, states: cycles.flatMap((cycle) => all[cycle] ?? []) };
  }

  drifts(): object {
    const data = this.#drifts.toReversed();
    return { data, pagination: { total: data.length, next_cursor: null } };
  }

  /** Creates an instance in a past state. */
  fork({ name, cycle, generation = this.#generation }: ForkInstance): ForkedInstance {
    const strengths = this.#past[generation - 1]?.[cycle]?.snapshot.mode_strengths;
    const { instance } = new FakeBackend(
      this.#account,
      name,
      strengths === undefined ? [] : Object.values(strengths).map(Number),
    );
    const { report: _, ...texts } = instance;
    const origin = { instance_id: this.instance.id, generation, cycle };
    return { ...texts, forked_from: origin };
  }

  get report(): Report {
    return reportOf(this.instance.id, this.#state);
  }

  /** Waits until `count` streams have been opened, including ended streams. */
  untilOpened(count: number): Promise<void> {
    return this.#until(() => this.opened.length >= count);
  }

  /** Waits until at most `count` streams are open. */
  untilLeft(count = 0): Promise<void> {
    return this.#until(() => this.#streams.size <= count);
  }

  async #until(isSo: () => boolean): Promise<void> {
    const signal = AbortSignal.timeout(CHANGE_MS_MAX);
    while (!isSo()) await once(this.#changes, 'change', { signal });
  }

  /** Processes an observation, and sends the event on all streams. */
  observe(observation: Observation, context: HistoryRow['context'] = {}): Report {
    advance(this.#state, observation, 60, this.#state);
    this.#ordinal += 1;
    const { report } = this;
    const row = this.#rowOf(observation, context, report.snapshot.cycle);
    this.rows.push(row);
    const drift = report.drift.level === 'D0' ? null : driftEvent(report, row);
    if (drift !== null) this.#drifts.push(drift);
    this.#keep(row.timestamp);
    this.#add(`id: ${this.#ordinal}\n${event('cycle', { observation: row, drift })}`);
    this.#write(this.#stateEvent());
    this.#renew();
    return report;
  }

  reset(mode: string): void {
    const resetTo = mode === 'initial' ? resetToInitial : resetToDefault;
    this.#state = resetTo(this.#state);
    this.#generation += 1;
    this.#keep(null);
    this.#add(event('reset', { generation: this.#generation }));
    this.#write(this.#stateEvent());
    this.#renew();
  }

  #stateEvent(): string {
    const head = { modelVersion: MODEL_VERSION, model: this.#state };
    return event('state', JSON.parse(followedState(this.instance.id, head, MODELS)));
  }

  /** Changes texts of the instance. */
  rename(change: RenameInstance): object {
    const at = this.#account.instances.findIndex(({ id }) => id === this.instance.id);
    const before = this.#account.instances[at] ?? this.instance;
    this.#account.instances = this.#account.instances.with(at, { ...before, ...change });
    const { report: _, ...texts } = { ...before, ...change };
    return { data: { ...texts, tags: change.tags ?? {} } };
  }

  remove(): void {
    this.#write(event('deleted', {}));
    this.cut();
    this.#account.instances = this.#account.instances.filter(({ id }) => id !== this.instance.id);
    this.#account.backends.delete(this.instance.id);
  }

  /** Ends all streams, as a console does after a minute. */
  cut(): void {
    for (const stream of this.#streams) stream.end();
    this.#streams.clear();
  }

  /** Opens a stream that starts now or after an event. */
  follow(after: string | undefined, stream: ServerResponse): void {
    this.opened.push(after);
    stream.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    stream.write(`retry: ${RETRY_MS}\n\n`);
    if (after === undefined) stream.write(`id: ${this.#ordinal}\n\n`);
    stream.write(this.#stateEvent());
    if (after !== undefined) {
      const from = Math.max(Number(after), this.floor);
      if (from > Number(after)) stream.write(event('gap', { from: Number(after) + 1, to: from }));
      for (const { ordinal, text } of this.#events) if (ordinal > from) stream.write(text);
    }
    this.#streams.add(stream);
    this.#changes.emit('change');
    stream.once('close', () => {
      this.#streams.delete(stream);
      this.#changes.emit('change');
    });
  }

  /** States after these observations, computed on a copy. */
  simulate(observations: readonly Observation[]): Report[] {
    const copy = this.#state.slice();
    return observations.map((observation) => {
      advance(copy, observation, 1, copy);
      return reportOf(this.instance.id, copy);
    });
  }

  history(query: Record<string, string>) {
    const limit = Number(query['limit']);
    const offset = Number(query['offset'] ?? query['cursor'] ?? 0);
    const isAll = query['generation'] === 'all';
    const own = this.rows.filter(({ generation }) => isAll || generation === this.#generation);
    const total = Math.max(this.madeUp, own.length);
    const rowAt = (index: number): HistoryRow => own.at(-1 - index) ?? madeUpRow(total - index);
    const count = Math.max(0, Math.min(limit, total - offset));
    const data = Array.from({ length: count }, (_, index) => rowAt(offset + index));
    const hasMore = offset + count < total;
    const cursor = hasMore ? String(offset + count) : null;
    return { data, pagination: { limit, offset, total, has_more: hasMore, next_cursor: cursor } };
  }

  #rowOf({ mode, signal, confidence }: Observation, context: HistoryRow['context'], cycle: number) {
    return {
      ...{ cycle, signal_strength: signal, confidence, context, generation: this.#generation },
      mode_target: MODE_TARGETS[mode] ?? 'ORDER',
      timestamp: new Date(BEGIN_MS + this.#ordinal * 60_000).toISOString(),
    };
  }

  #add(text: string): void {
    this.#events.push({ ordinal: this.#ordinal, text });
    this.#write(text);
  }

  #write(text: string): void {
    for (const stream of this.#streams) stream.write(text);
  }

  /** Updates the answers of the other routes. */
  #renew(): void {
    const { report } = this;
    this.#account.instances = this.#account.instances.map((each) =>
      each.id === this.instance.id ? { ...each, report } : each,
    );
  }
}

type Answer = (backend: FakeBackend, request: FastifyRequest, reply: FastifyReply) => unknown;

/** Answers for an instance with a backend. The comparison needs no backend for drift events. */
const oneOf =
  (account: Account) => (of: Answer) => (request: FastifyRequest, reply: FastifyReply) => {
    const { id } = request.params as { id: string };
    const backend = account.backends.get(id);
    if (backend !== undefined) return of(backend, request, reply);
    const plain = account.instances.find((each) => each.id === id);
    const isDrift = request.routeOptions.url?.endsWith('/drift') === true;
    if (plain !== undefined && isDrift) return { data: newestDriftsOf(plain) };
    return reply.status(404).send({ error: 'not_found', message: 'instance not found' });
  };

/** Adds the routes for instances that receive observations. */
export function addBackendRoutes(add: AddRoute, account: Account): void {
  const one = oneOf(account);
  const at = (path: string) => `/api/instances/:id${path}`;
  const answered = new Map<string, Report>();
  add(
    'GET',
    at('/events'),
    one((backend, { headers, query }, reply) => {
      const after = headers['last-event-id'] ?? (query as { after?: string }).after;
      reply.hijack();
      backend.follow(after === undefined ? undefined : String(after), reply.raw);
    }),
  );
  add(
    'GET',
    at('/history'),
    one((backend, { query }) => backend.history(query as Record<string, string>)),
  );
  addPastRoutes((method, path, of) => add(method, at(path), one(of)));
  add(
    'POST',
    at('/process'),
    one((backend, { body, headers }, reply) => {
      const sent = body as Sent;
      const key = String(headers['idempotency-key']);
      const before = answered.get(key);
      if (before !== undefined) return { data: before };
      if (backend.isThrottling) {
        reply.headers({ 'x-throttled': 'true', 'retry-after': '1' });
        return { data: backend.report };
      }
      const report = backend.observe(observationOf(sent), sent.context ?? {});
      answered.set(key, report);
      return { data: report };
    }),
  );
  add(
    'POST',
    at('/simulate'),
    one((backend, { body }) => {
      const { observations } = body as { observations: Sent[] };
      const states = backend.simulate(observations.map(observationOf));
      return { data: { states, processed_count: states.length } };
    }),
  );
  add(
    'POST',
    at('/reset'),
    one((backend, { body }) => {
      backend.reset((body as { mode: string }).mode);
      return { data: {} };
    }),
  );
  add(
    'DELETE',
    at(''),
    one((backend) => {
      backend.remove();
      return { data: { id: backend.instance.id, deleted: true } };
    }),
  );
}

/** Adds the routes for past states, drift, forks and texts. */
function addPastRoutes(add: (method: string, path: string, of: Answer) => void): void {
  add('GET', '/states', (backend, { query }, reply) => {
    const answer = backend.states(query as Record<string, string>);
    if (!('firstCycle' in answer)) return { data: answer };
    const details = { reason: 'cycle_trimmed', first_cycle: answer.firstCycle };
    return reply.status(410).send({ error: 'not_found', message: 'trimmed', details });
  });
  add('GET', '/drift', (backend) => backend.drifts());
  add('POST', '/fork', (backend, { body }, reply) =>
    reply.status(201).send({ data: backend.fork(body as ForkInstance) }),
  );
  add('PATCH', '', (backend, { body }) => backend.rename(body as RenameInstance));
}

type Sent = {
  readonly mode_target: string;
  readonly signal_strength: number;
  readonly confidence?: number;
  readonly context?: HistoryRow['context'];
};

function observationOf({ mode_target: mode, signal_strength: signal, confidence = 1 }: Sent) {
  return { mode: (MODE_TARGETS as readonly string[]).indexOf(mode), signal, confidence };
}

function reportOf(id: string, state: State): Report {
  const report = newReport();
  readReport(state, report);
  return JSON.parse(reportJson(id, report));
}

function madeUpRow(cycle: number): HistoryRow {
  return {
    ...{ cycle, generation: 1, signal_strength: 0.5, confidence: 1, context: { turn: cycle } },
    ...{ mode_target: 'ORDER', timestamp: new Date(BEGIN_MS + cycle * 1_000).toISOString() },
  };
}

function driftEvent({ snapshot, drift }: Report, { timestamp, generation = 1 }: HistoryRow) {
  return {
    generation,
    ...{ cycle: snapshot.cycle, drift_level: drift.level, deviation: drift.deviation },
    ...{ affected_modes: ['assertion'], rolled_back: drift.level === 'D3', timestamp },
  };
}

function event(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
