import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AuditRow, Start } from '#console/answers';
import type { AddRoute } from '#test/console/pages/fakes/add-route';
import { addBackendRoutes, FakeBackend } from '#test/console/pages/fakes/fake-backend';
import { addInstanceRoutes, type FakeInstance } from '#test/console/pages/fakes/fake-instances';

/** An API key of the fake account, as `GET /api/keys` shows the key. */
export type FakeKey = Record<string, unknown> & { id: string; name?: string; status: string };

/**
 * Data behind the routes for keys, audit trail, usage and billing. Tests change the data directly.
 */
export type FakeAccount = {
  keys: FakeKey[];
  /** Rows of the audit trail, newest first. */
  actions: AuditRow[];
  usage: Record<string, unknown>;
  instances: FakeInstance[];
  /** Backends of instances that receive observations, by instance id. */
  readonly backends: Map<string, FakeBackend>;
  /** Usage by month, newest first. */
  months: Record<string, unknown>[];
  /** Usage of the current month by instance. */
  byInstance: Record<string, unknown>;
  billing: Record<string, unknown>;
  start: Start;
  /** Request bodies, newest last. */
  readonly sent: {
    readonly route: string;
    readonly body: unknown;
    readonly idempotencyKey?: string;
  }[];
  /** Replacement answers by route: a status, or a whole refusal. */
  readonly broken: Map<string, number | FakeRefusal>;
};

/** A refusal with its status, headers and body. */
type FakeRefusal = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object;
};

const plan = (name: string, requests: number, cycles: number, instances: number) => ({
  ...{ plan: name, requests_per_minute: requests, cycles_per_month: cycles, instances },
});
const PLANS = [
  plan('free', 10, 10_000, 1_000),
  plan('indie', 60, 100_000, 10_000),
  plan('pro', 300, 500_000, 100_000),
];

/** An account without keys and audit lines, with a third of its month used. */
export function emptyAccount(): FakeAccount {
  const usage = {
    ...{ account_id: 'accountOfAda', requests_per_minute: 10, requests_in_window: 4 },
    ...{ window_mark: 10, window_resets_at: '2026-01-15T12:00:42.000Z' },
    ...{ cycles_per_month: 10_000, cycles_used: 3_412, cycles_reserved: 8 },
    ...{ cycles_remaining: 6_580, month_mark: 3_500, cycles_expired: 0, cycles_lost: 0 },
    month_ends_at: '2026-02-01T00:00:00.000Z',
    ...{ days: [], keys: [], other_cycles: 3_412 },
  };
  const month = { month: '2026-01', cycles: 0, days: [], keys: [], other_cycles: 0 };
  const byInstance = {
    ...{ month: '2026-01', as_of: '2026-01-15T12:00:00.000Z', cycles: 0, instances: [] },
    ...{ other_cycles: 0, instances_total: 0, instances_listed: 0, is_complete: true },
  };
  const billing = { plan: 'free', may_subscribe: false, may_manage: false, plans: PLANS };
  const broken = new Map();
  const start = {
    instances: { count: 0, max: 1_000 },
    steps: { key: false, call: false, instance: false, observation: false, connection: false },
  };
  return {
    start,
    ...{ keys: [], actions: [], usage, months: [month], byInstance, billing },
    ...{ instances: [], backends: new Map(), sent: [], broken },
  };
}

/** A secret as long as a real secret. */
export const secretOf = (count: number): string => `svc_sk_${String(count).padStart(43, 'Zq7')}`;

const ROWS_OF_A_PAGE_MAX = 50;

/**
 * Answers the routes for keys, audit trail, usage and billing, for callers with a session. The
 * fakes replace the real routes, so that tests control rows, failures and delays.
 */
export function addFakeRoutes(app: FastifyInstance, account: FakeAccount): void {
  const answers = new Map<string, Parameters<AddRoute>[2]>();
  const add: AddRoute = (method, url, answer) => void answers.set(`${method} ${url}`, answer);
  app.addHook('preHandler', async (request, reply) => {
    const route = `${request.method} ${request.routeOptions.url}`;
    const answer = answers.get(route);
    if (answer === undefined) return;
    const { cookie = '', host = '' } = request.headers;
    const me = await app.inject({ url: '/api/me', headers: { cookie, host } });
    if (me.statusCode !== 200) return reply.status(me.statusCode).send(me.json());
    // The endpoints of the API receive bodies as bytes.
    if (Buffer.isBuffer(request.body)) request.body = JSON.parse(request.body.toString());
    const key = request.headers['idempotency-key'];
    const keyed = key === undefined ? {} : { idempotencyKey: String(key) };
    account.sent.push({ route, body: request.body ?? request.query, ...keyed });
    const broken = refusalOf(account.broken.get(route));
    if (broken !== undefined) {
      const { status, headers = {}, body } = broken;
      return reply.status(status).headers(headers).send(body);
    }
    const answered = await answer(request, reply);
    return reply.sent ? reply : reply.send(answered);
  });
  addKeyRoutes(add, account);
  addInstanceRoutes(
    add,
    account,
    ({ name, strengths, description }) =>
      new FakeBackend(account, name, strengths, description).instance,
  );
  addBackendRoutes(add, account);
  add('GET', '/api/start', () => ({ data: account.start }));
  add('GET', '/api/usage', () => ({ data: account.usage }));
  add('GET', '/api/usage/months', () => ({ data: account.months }));
  add('GET', '/api/usage/instances', () => ({ data: account.byInstance }));
  add('GET', '/api/usage/instances/export', ({ query }, reply) => {
    const { format } = query as Record<string, string>;
    reply.header('content-disposition', `attachment; filename="instances.${format}"`);
    return reply.type('text/csv').send('month,instance_id,instance_name,cycles\r\n');
  });
  add('GET', '/api/usage/export', ({ query }, reply) => {
    const { format, month = 'all' } = query as Record<string, string>;
    reply.header('content-disposition', `attachment; filename="usage-${month}.${format}"`);
    return reply.type('text/csv').send('date,key_id,key_name,cycles\r\n');
  });
  add('GET', '/api/billing', () => ({ data: account.billing }));
  for (const page of ['checkout', 'portal']) {
    add('POST', `/api/billing/${page}`, () => ({ data: { url: `http://pay.example/${page}` } }));
  }
  add('GET', '/api/audit', ({ query }) => pageOf(account, query as Record<string, string>));
  add('GET', '/api/audit/export', (_request, reply) =>
    reply
      .header('content-disposition', 'attachment; filename="audit.ndjson"')
      .type('application/x-ndjson')
      .send(account.actions.map((line) => `${JSON.stringify(line)}\n`).join('')),
  );
}

function refusalOf(broken: number | FakeRefusal | undefined): FakeRefusal | undefined {
  if (typeof broken !== 'number') return broken;
  return { status: broken, body: { error: 'internal', message: 'the store is away' } };
}

function addKeyRoutes(add: AddRoute, account: FakeAccount): void {
  let made = 0;
  const idIn = ({ params }: FastifyRequest) => (params as { id: string }).id;
  const change = (request: FastifyRequest, fields: Partial<FakeKey>) => {
    account.keys = account.keys.map((key) =>
      key.id === idIn(request) ? { ...key, ...fields } : key,
    );
    return { data: account.keys.find(({ id }) => id === idIn(request)) };
  };
  const create = (fields: Record<string, unknown>) => {
    made += 1;
    const key = secretOf(made);
    const view = {
      ...{ id: `key_${made}`, status: 'active', masked: `svc_sk_…${key.slice(-4)}` },
      ...{ created_at: `2026-01-15T12:0${made}:00.000Z`, hints: ['never_used'], ...fields },
    };
    account.keys = [...account.keys, view];
    return { data: { ...view, key } };
  };
  add('GET', '/api/keys', () => ({ data: account.keys }));
  add('POST', '/api/keys', ({ body }, reply) => {
    const { networks = [] } = body as { networks?: string[] };
    if (networks.includes('nonsense')) {
      const details = { field: 'networks', reason: 'invalid_text' };
      const message = 'must be an address or a network: 192.0.2.0/24';
      return reply.status(422).send({ error: 'invalid_request', message, details });
    }
    return reply.status(201).send(create(body as Record<string, unknown>));
  });
  add('PATCH', '/api/keys/:id', (request) => change(request, request.body as Partial<FakeKey>));
  add('PUT', '/api/keys/:id/scope', (request) => change(request, request.body as Partial<FakeKey>));
  add('POST', '/api/keys/:id/rotate', (request, reply) => {
    const before = account.keys.find(({ id }) => id === idIn(request));
    return reply.status(201).send(create({ name: before?.name, scope: before?.['scope'] }));
  });
  add('POST', '/api/keys/:id/disable', (request) => change(request, { status: 'disabled' }));
  add('POST', '/api/keys/:id/enable', (request) => change(request, { status: 'active' }));
  add('DELETE', '/api/keys/:id', (request, reply) => {
    change(request, { status: 'revoked' });
    return reply.status(204).send();
  });
}

function pageOf({ actions }: FakeAccount, query: Record<string, string>) {
  const { action = '', result, search = '', from = '', until = '9' } = query;
  const matching = actions.filter((row) => {
    const isIn = row.at >= from && row.at < until && row.action.startsWith(action);
    const texts = [row.actor, row.target ?? {}].flatMap((party) => Object.values(party));
    const text = texts.join('\n').toLowerCase();
    return isIn && (result ?? row.result) === row.result && text.includes(search.toLowerCase());
  });
  const begin = Number(query['cursor'] ?? 0);
  const limit = Math.min(Number(query['limit']), ROWS_OF_A_PAGE_MAX);
  const end = begin + limit;
  const next = end < matching.length ? String(end) : null;
  const data = matching.slice(begin, end);
  const reached = data.at(-1)?.at ?? null;
  return { data, pagination: { limit, next_cursor: next, reached_at: reached } };
}
