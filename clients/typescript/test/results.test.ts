import { getEventListeners } from 'node:events';
import { buildSync } from 'esbuild';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import packageJson from '../package.json' with { type: 'json' };
import {
  ApiError,
  type ClientOptions,
  IdentityEngine,
  IdentityEngineError,
  uuid7,
  VERSION,
} from '../src/identity-engine.ts';
import { eachRowOnce } from '../src/rows-once.ts';
import { clientOf, rejection } from './support/clients.ts';
import { answer, data, FakeServer, silence } from './support/fake-server.ts';

const OBSERVATION = { mode_target: 'ORDER', signal_strength: 0.5 } as const;

const results = suite('a result');

results('contains the facts from the headers', async () => {
  const headers = { etag: '"snap_1"', 'idempotent-replayed': 'true' };
  await using server = await FakeServer.start(data({ contract: {} }, headers));
  const result = await clientOf(server).instance('inst_1').process(OBSERVATION);
  const { headers: all, ...facts } = result;
  assert.is(all.get('X-Request-Id'), 'req_of_the_fake');
  assert.equal(facts, {
    ...{ status: 200, requestId: 'req_of_the_fake', attempts: 1, etag: '"snap_1"' },
    limits: {
      requests: { limit: 60, remaining: 59, resetAt: new Date(1_800_000_000_000) },
      monthlyRemaining: 99_999,
    },
    ...{ isReplayed: true, data: { contract: {} }, isNotModified: false, throttled: undefined },
  });
});

results('reports throttling, and the time to wait', async () => {
  const headers = { 'x-throttled': 'true', 'retry-after': '1' };
  await using server = await FakeServer.start(data({ contract: {} }, headers));
  const result = await clientOf(server).instance('inst_1').process(OBSERVATION);
  assert.equal(result.throttled, { retryAfterMs: 1_000 });
});

results('reports that nothing was modified', async () => {
  await using server = await FakeServer.start((response) => {
    response.writeHead(304, { etag: '"snap_1"', 'x-request-id': 'req_1' }).end();
  });
  const result = await clientOf(server).instance('inst_1').snapshot({ ifNoneMatch: '"snap_1"' });
  assert.equal([result.isNotModified, result.data, result.limits], [true, undefined, undefined]);
  assert.is(result.headers.get('etag'), '"snap_1"');
  assert.is(server.received[0]?.headers['if-none-match'], '"snap_1"');
});

results('keeps unknown fields and values', async () => {
  const instance = { id: 'inst_1', stress_state: 'BEYOND', mood: { of: 'tomorrow' } };
  await using server = await FakeServer.start(data(instance));
  assert.equal((await clientOf(server).instances.get('inst_1')).data, instance);
});

const requests = suite('a request');

requests('has headers for key, client version, request id and preference', async () => {
  await using server = await FakeServer.start(data({ contract: {} }));
  const options = { requestId: 'req_of_mine', strict: true, idempotencyKey: 'k' };
  await clientOf(server).instance('inst/1').process(OBSERVATION, options);
  const [{ headers, path } = assert.unreachable() as never] = server.received;
  assert.is(path, '/v1/instances/inst%2F1/process');
  assert.is(headers['user-agent'], `identity-engine-typescript/${VERSION}`);
  assert.equal(
    [headers['x-request-id'], headers['prefer'], headers['idempotency-key']],
    ['req_of_mine', 'handling=strict', 'k'],
  );
});

requests('does not follow a redirect', async () => {
  await using target = await FakeServer.start(data({}));
  await using server = await FakeServer.start(answer(307, {}, { location: target.baseUrl }));
  await rejection(clientOf(server).account.get(), IdentityEngineError);
  assert.is(target.received.length, 0);
});

requests('rejects with the abort reason of the signal', async () => {
  await using server = await FakeServer.start(silence);
  const signal = AbortSignal.timeout(30);
  const error = await rejection(clientOf(server).account.get({ signal }), DOMException);
  assert.is(error.name, 'TimeoutError');
});

requests('is not sent if the signal is already aborted', async () => {
  await using server = await FakeServer.start(data({}));
  const signal = AbortSignal.abort(new Error('enough'));
  await rejection(clientOf(server).account.get({ signal }), Error);
  assert.is(server.received.length, 0);
});

// Report 20: each call added a listener to a shared signal, about which Node 20 warns.
requests('shares one listener with all calls of the same signal', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const fetch = () => new Promise<Response>(() => {});
  const client = clientOf({ baseUrl: 'http://x.test/v1' }, { fetch });
  const calls = Array.from({ length: 20 }, () => rejection(client.account.get({ signal }), Error));
  const streams = Array.from({ length: 20 }, () => {
    const events = client.instance('i').events({ signal });
    return rejection(events[Symbol.asyncIterator]().next(), Error);
  });
  await Promise.resolve();
  assert.is(getEventListeners(signal, 'abort').length, 1);
  controller.abort(new Error('enough'));
  for (const { message } of await Promise.all([...calls, ...streams])) {
    assert.is(message, 'enough');
  }
  assert.is(getEventListeners(signal, 'abort').length, 0);
});

requests('leaves no listener on a shared signal', async () => {
  await using server = await FakeServer.start(data({ contract: {} }));
  const { signal } = new AbortController();
  for (let count = 0; count < 3; count += 1) await clientOf(server).account.get({ signal });
  assert.is(getEventListeners(signal, 'abort').length, 0);
});

requests('carries the active trace context', async () => {
  const { context, propagation } = await import('@opentelemetry/api');
  propagation.setGlobalPropagator({
    inject: (_, carrier, setter) => setter.set(carrier, 'traceparent', '00-trace-span-01'),
    extract: () => context.active(),
    fields: () => ['traceparent'],
  });
  await using server = await FakeServer.start(data({}));
  await clientOf(server).account.get();
  propagation.disable();
  await clientOf(server).account.get();
  const sent = server.received.map(({ headers }) => headers['traceparent']);
  assert.equal(sent, ['00-trace-span-01', undefined]);
});

// Report 20: a bundled client did not propagate the trace context.
requests('carries the active trace context from a bundle', async () => {
  const sent: unknown[] = [];
  Object.assign(globalThis, { sentFromBundle: sent });
  const [{ text } = assert.unreachable() as never] = buildSync({
    ...{ bundle: true, platform: 'node', format: 'esm', write: false },
    stdin: { contents: BUNDLED, resolveDir: import.meta.dirname },
  }).outputFiles;
  await import(`data:text/javascript,${encodeURIComponent(text)}`);
  assert.equal(sent, ['00-trace-span-01']);
});

const BUNDLED = `
  import { context, propagation } from '@opentelemetry/api';
  import { IdentityEngine } from '../src/identity-engine.ts';
  propagation.setGlobalPropagator({
    inject: (_, carrier, setter) => setter.set(carrier, 'traceparent', '00-trace-span-01'),
    extract: () => context.active(),
    fields: () => ['traceparent'],
  });
  const fetch = async (_, { headers }) => {
    sentFromBundle.push(headers.traceparent);
    return new Response('{"data":{}}', { headers: { 'x-request-id': 'req_1' } });
  };
  await new IdentityEngine({ apiKey: 'k', baseUrl: 'http://x.test/v1', fetch }).account.get();
  propagation.disable();
`;

requests('succeeds even if the propagator fails', async () => {
  const { context, propagation } = await import('@opentelemetry/api');
  propagation.setGlobalPropagator({
    inject: () => assert.unreachable('of the propagator'),
    extract: () => context.active(),
    fields: () => [],
  });
  await using server = await FakeServer.start(data({}));
  await clientOf(server).account.get();
  propagation.disable();
});

// Report 20: a refusal's message lacked status and request id.
requests('that is refused throws a message with status, code and request id', async () => {
  const body = { error: 'invalid_request', message: 'must be at most 1' };
  const details = { field: 'signal_strength', reason: 'out_of_range' };
  await using server = await FakeServer.start(answer(422, { ...body, details }));
  const call = clientOf(server).instance('inst_1').process(OBSERVATION);
  const { message, text } = await rejection(call, ApiError);
  assert.is(text, 'must be at most 1');
  const about = 'field signal_strength, reason out_of_range, request req_of_the_fake';
  assert.is(message, `422 invalid_request: must be at most 1, ${about}`);
});

requests('with a foreign answer throws a message with status and request id', async () => {
  await using server = await FakeServer.start(answer(404, {}));
  const { message } = await rejection(clientOf(server).account.get(), IdentityEngineError);
  assert.is(message, 'answer 404 is not a valid answer of the service, request req_of_the_fake');
});

const pages = suite('a list');

pages('is iterated one page at a time', async () => {
  const page = (rows: number[], has_more: boolean) =>
    answer(200, { data: rows.map((id) => ({ id })), pagination: { total: 3, has_more } });
  await using server = await FakeServer.start(page([1, 2], true), page([3], false));
  const ids: unknown[] = [];
  for await (const { id } of clientOf(server).instances.iterate({ limit: 2 })) {
    ids.push(id);
    assert.is(server.received.length, ids.length < 3 ? 1 : 2);
  }
  assert.equal(ids, [1, 2, 3]);
  assert.is(server.received[1]?.path, '/v1/instances?limit=2&offset=2');
});

// Report 5: creates and deletes during an iteration hid or repeated rows.
pages('is iterated by the cursors of the pages, despite concurrent changes', async () => {
  const page = (rows: number[], next_cursor: string | null) =>
    answer(200, {
      data: rows.map((id) => ({ id })),
      pagination: { limit: 2, offset: 1, total: 9, has_more: next_cursor !== null, next_cursor },
    });
  await using server = await FakeServer.start(page([1, 2], 'c 1'), page([], 'c2'), page([3], null));
  const ids: unknown[] = [];
  const rows = clientOf(server).instances.iterate({ limit: 2, offset: 1, search: 'a' });
  for await (const { id } of rows) ids.push(id);
  assert.equal(ids, [1, 2, 3]);
  assert.equal(
    server.received.map(({ path }) => path.split('?')[1]),
    ['limit=2&offset=1&search=a', 'limit=2&search=a&cursor=c+1', 'limit=2&search=a&cursor=c2'],
  );
});

pages('throws instead of looping endlessly if an empty page announces more rows', async () => {
  const page = answer(200, { data: [], pagination: { total: 3, has_more: true } });
  await using server = await FakeServer.start(page);
  const first = await clientOf(server).instances.list();
  await rejection(first.next(), IdentityEngineError);
});

pages('yields each row once, even if rows move', async () => {
  const rows = [
    ...[
      { cycle: 2, generation: 2 },
      { cycle: 1, generation: 2 },
      { cycle: 2, generation: 2 },
    ],
    ...[
      { cycle: 1, generation: 2 },
      { cycle: 9, generation: 1 },
    ],
  ];
  const seen: number[] = [];
  const moving = (async function* () {
    yield* rows;
  })();
  for await (const { cycle } of eachRowOnce(moving)) seen.push(cycle);
  assert.equal(seen, [2, 1, 9]);
});

const keys = suite('generated keys');

keys('are increasing version 7 UUIDs, even if the clock steps back', () => {
  const made: string[] = [];
  for (let count = 0; count < 10_000; count += 1) made.push(uuid7(1_760_000_000_000 - count));
  const last = made.at(-1) ?? '';
  assert.match(last, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(made, made.toSorted());
  assert.is(new Set(made).size, made.length);
});

keys('contain their creation time', () => {
  const time = Number.parseInt(uuid7().replaceAll('-', '').slice(0, 12), 16);
  assert.ok(Math.abs(Date.now() - time) < 1_000);
});

const options = suite('a client');

const UNUSABLE: readonly (readonly [string, ClientOptions, RegExp])[] = [
  ['no key', {}, /IDENTITY_ENGINE_API_KEY/],
  ['a key that no header can carry', { apiKey: 'a\nb' }, /invalid in a header/],
  ['a base address without /v1', { apiKey: 'k', baseUrl: 'https://a.test' }, /must end in \/v1/],
  ['an invalid base address', { apiKey: 'k', baseUrl: 'a.test' }, /base URL is invalid/],
  ['a base address with a query', { apiKey: 'k', baseUrl: 'https://a.test/v1?a' }, /without/],
  ['attemptsMax 0', { apiKey: 'k', attemptsMax: 0 }, /attemptsMax/],
  ['timeoutMs 0', { apiKey: 'k', timeoutMs: 0 }, /timeoutMs/],
];

for (const [what, given, message] of UNUSABLE) {
  options(`cannot be created with ${what}`, () => {
    assert.throws(
      () => new IdentityEngine(given),
      (error: Error) => error instanceof IdentityEngineError && message.test(error.message),
    );
  });
}

options('has the version of the package', () => assert.is(VERSION, packageJson.version));

options('takes key and address from the environment', async () => {
  await using server = await FakeServer.start(data({}));
  process.env['IDENTITY_ENGINE_API_KEY'] = 'svc_sk_of_the_environment';
  process.env['IDENTITY_ENGINE_BASE_URL'] = `${server.baseUrl}/`;
  try {
    await new IdentityEngine().account.get();
  } finally {
    delete process.env['IDENTITY_ENGINE_API_KEY'];
    delete process.env['IDENTITY_ENGINE_BASE_URL'];
  }
  assert.is(server.received[0]?.headers['authorization'], 'Bearer svc_sk_of_the_environment');
  assert.is(server.received[0]?.path, '/v1/account');
});

for (const each of [results, requests, pages, keys, options]) each.run();
