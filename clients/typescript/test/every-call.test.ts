import { inspect } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type ApiError,
  ConnectionError,
  IdentityEngine,
  IdentityEngineError,
  NotFoundError,
  type RequestMethod,
  type RequestOptions,
  VERSION,
} from '../src/identity-engine.ts';
import { clientOf, KEY, rejection } from './support/clients.ts';
import {
  answer,
  cut,
  data,
  FakeServer,
  proxyPage,
  type Received,
  refusal,
} from './support/fake-server.ts';

const extra = suite('extra headers');

extra('of the client and of the call are sent; the call has precedence', async () => {
  await using server = await FakeServer.start(data([]));
  const client = clientOf(server, { headers: { 'X-Game': 'a', 'X-Team': 'red' } });
  await client.instances.list({}, { headers: { 'x-game': 'b' } });
  await client.account.get();
  const sent = server.received.map(({ headers }) => [headers['x-game'], headers['x-team']]);
  assert.equal(sent, [
    ['b', 'red'],
    ['a', 'red'],
  ]);
});

extra('are sent in every attempt, and for every page', async () => {
  const page = (next_cursor: string | null) =>
    answer(200, { data: [{}], pagination: { total: 2, next_cursor } });
  await using server = await FakeServer.start(cut, page('next'), page(null));
  const options = { headers: { 'x-game': 'a' } };
  for await (const _ of clientOf(server).instances.iterate({}, options));
  assert.equal(
    server.received.map(({ headers }) => headers['x-game']),
    ['a', 'a', 'a'],
  );
});

extra('are sent when a stream connects, and such a stream has its own connection', async () => {
  await using server = await FakeServer.start((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_1' });
    response.write('event: state\ndata: {}\n\n');
  });
  const instance = clientOf(server).instance('inst_1');
  const streams = [{}, { headers: { 'x-game': 'a' } }, {}, { headers: { 'x-game': 'b' } }];
  const iterators = streams.map((options) => instance.events(options)[Symbol.asyncIterator]());
  for (const iterator of iterators) await iterator.next();
  const sent = server.received.map(({ headers }) => headers['x-game']);
  for (const iterator of iterators) await iterator.return();
  assert.equal(sent, [undefined, 'a', 'b']);
});

for (const [name, instead] of [
  ['Authorization', 'use the option apiKey'],
  ['USER-AGENT', 'use the option application'],
  ['idempotency-key', 'use the option idempotencyKey'],
  ['If-Match', 'use the option ifMatch'],
  ['if-none-match', 'use the option ifNoneMatch'],
  ['Prefer', 'use the option strict'],
  ['x-request-id', 'use the option requestId'],
  ['last-event-id', 'use the option after'],
  ['traceparent', 'register an OpenTelemetry propagator'],
  ['proxy-authorization', "put the password into the proxy's address"],
  ...['accept', 'content-type', 'content-length', 'host', 'connection', 'transfer-encoding'].map(
    (http) => [http, 'the client sets this header itself'] as const,
  ),
] as const) {
  extra(`cannot replace ${name}`, async () => {
    await using server = await FakeServer.start(data({}));
    const headers = { [name]: '1' };
    const call = clientOf(server).account.get({ headers });
    const { message } = await rejection(call, IdentityEngineError);
    assert.match(message, `${name} is no extra header: ${instead}`);
    assert.throws(() => clientOf(server, { headers }), `${name} is no extra header`);
    assert.is(server.received.length, 0);
  });
}

for (const headers of [
  ...[{ '': 'a' }, { 'x y': 'a' }, { 'x\r\nhost': 'a' }, { 'x:': 'a' }, { schlüssel: 'a' }],
  ...[{ x: '' }, { x: ' a' }, { x: 'a\r\nhost: b' }, { x: 'ä' }, { x: 1 as unknown as string }],
  { 'X-Game': 'a', 'x-game': 'b' },
]) {
  extra(`with an invalid or repeated name or value are refused: ${inspect(headers)}`, async () => {
    await using server = await FakeServer.start(data({}));
    const call = clientOf(server).account.get({ headers: headers as Record<string, string> });
    await rejection(call, IdentityEngineError);
    assert.is(server.received.length, 0);
  });
}

const raw = suite('the headers of an answer');

raw('are in the result and in the error, without making a printed error longer', async () => {
  const more = { 'x-served-by': 'edge-7' };
  await using server = await FakeServer.start(
    data({}, more),
    refusal(404, 'not_found', undefined, more),
  );
  const client = clientOf(server);
  assert.is((await client.account.get()).headers.get('X-Served-By'), 'edge-7');
  const error = await rejection(client.instances.get('inst_1'), NotFoundError);
  assert.is(error.headers.get('x-served-by'), 'edge-7');
  assert.not.match(inspect(error), 'edge-7');
});

raw('of a refusal are in the result if a retried delete found no instance', async () => {
  const more = { 'x-served-by': 'edge-7' };
  await using server = await FakeServer.start(cut, refusal(404, 'not_found', undefined, more));
  const { status, headers } = await clientOf(server).instances.delete('inst_1');
  assert.equal([status, headers.get('x-served-by')], [404, 'edge-7']);
});

const request = suite('a request to any path');

function onlyOne({ received: [only, ...others] }: FakeServer): Received {
  assert.equal([only === undefined, others], [false, []]);
  return only as Received;
}

request('has method, query, body, key, condition and extra headers', async () => {
  await using server = await FakeServer.start(data({ a: 1 }));
  const result = await clientOf(server).request<{ a: number }>('PUT', '/later/a%2Fb', {
    query: { page: 2, all: true, name: 'ä&', none: undefined },
    body: { deep: [1n, null] },
    ...{ idempotencyKey: 'key-1', ifMatch: '"v1"', headers: { 'x-game': 'a' } },
  });
  assert.is(result.data.a, 1);
  const { method, path, headers, body } = onlyOne(server);
  assert.equal([method, path], ['PUT', '/v1/later/a%2Fb?page=2&all=true&name=%C3%A4%26']);
  assert.equal(body, { deep: [1, null] });
  const names = ['authorization', 'content-type', 'idempotency-key', 'if-match', 'x-game'];
  assert.equal(
    names.map((name) => headers[name]),
    [`Bearer ${KEY}`, 'application/json', 'key-1', '"v1"', 'a'],
  );
});

request('sends neither body nor key by default, and accepts a 204', async () => {
  await using server = await FakeServer.start((response) => {
    response.writeHead(204, { 'x-request-id': 'req_1' }).end();
  });
  const result = await clientOf(server).request('POST', '/later');
  assert.equal([result.status, result.data, result.requestId], [204, undefined, 'req_1']);
  const { headers, body } = onlyOne(server);
  const absent = [headers['idempotency-key'], headers['content-type'], body];
  assert.equal(absent, [undefined, undefined, undefined]);
});

request('returns the position in a list, and "not modified"', async () => {
  const pagination = { total: 9, next_cursor: 'c' };
  await using server = await FakeServer.start(
    answer(200, { data: [1], pagination }),
    (response) => {
      response.writeHead(304, { 'x-request-id': 'req_1' }).end();
    },
  );
  const client = clientOf(server);
  assert.equal((await client.request('GET', '/later')).pagination, pagination);
  const again = await client.request('GET', '/later', { ifNoneMatch: '"v1"' });
  assert.is(again.isNotModified, true);
});

for (const [method, options, isRetried] of [
  ['GET', {}, true],
  ['POST', {}, false],
  ['DELETE', {}, false],
  ['POST', { idempotencyKey: 'key-1' }, true],
  ['PATCH', { idempotencyKey: 'key-1' }, true],
] as const) {
  const key = 'idempotencyKey' in options ? 'with a key' : 'without a key';
  request(`${method} ${key} is${isRetried ? '' : ' not'} retried without an answer`, async () => {
    await using server = await FakeServer.start(cut, data({}));
    const call = clientOf(server).request(method, '/later', options);
    if (isRetried) assert.is((await call).attempts, 2);
    else assert.is((await rejection(call, ConnectionError)).mayHaveHappened, true);
    assert.is(server.received.length, isRetried ? 2 : 1);
  });
}

request('without a key is retried if the failed attempt certainly changed nothing', async () => {
  const overloaded = refusal(503, 'service_unavailable', 'overloaded');
  await using server = await FakeServer.start(overloaded, data({}));
  assert.is((await clientOf(server).request('POST', '/later')).attempts, 2);
});

request('throws the refusal of an unknown path', async () => {
  await using server = await FakeServer.start(refusal(404, 'not_found', 'unknown_path'));
  const error: ApiError = await rejection(clientOf(server).request('GET', '/no'), NotFoundError);
  assert.is(error.reason, 'unknown_path');
});

for (const path of [
  ...['', '/', 'account', '//evil.test/v1', '/a//b', '/a/', '/v1/account', '/v1', '/a\\b'],
  ...['/..', '/../admin', '/a/..', '/a/./b', '/%2e%2E/admin', '/.%2e/admin', '/a/%2E'],
  ...['/a?b=1', '/a#b', '/a b', '/a\tb', '/\n/evil.test', '/a\0', '/ä', '/a%', '/a%2', '/a%zz'],
  ...['http://evil.test/v1/a', '@evil.test/', '.evil.test/a', ':80/a'],
]) {
  request(`sends no key to ${JSON.stringify(path)}`, async () => {
    const urls: string[] = [];
    const client = new IdentityEngine({
      ...{ apiKey: KEY, baseUrl: 'http://service.test/v1', attemptsMax: 1 },
      fetch: async (url) => {
        urls.push(url);
        throw new Error('no network');
      },
    });
    const { message } = await rejection(client.request('GET', path), IdentityEngineError);
    assert.match(message, /the path (must be|is relative)/);
    assert.equal(urls, []);
  });
}

for (const [method, options] of [
  ['get', {}],
  ['TRACE', {}],
  ['GET', { body: {} }],
  ['POST', { body: { strength: Number.NaN } }],
  ['GET', { query: { name: '\ud800' } }],
  ['GET', { query: { '\ud800': 'a' } }],
  ['POST', { idempotencyKey: 'a\r\nb' }],
] as const) {
  request(`is refused before sending: ${method} ${inspect(options)}`, async () => {
    await using server = await FakeServer.start(data({}));
    const call = clientOf(server).request(method as RequestMethod, '/a', options as RequestOptions);
    assert.is((await rejection(call, IdentityEngineError)).attempts, 0);
    assert.is(server.received.length, 0);
  });
}

const application = suite('the application name');

application('follows the name of the client', async () => {
  await using server = await FakeServer.start(data({}));
  await clientOf(server, { application: 'my-game/2.1 engine' }).account.get();
  const agent = `identity-engine-typescript/${VERSION} my-game/2.1 engine`;
  assert.is(server.received[0]?.headers['user-agent'], agent);
});

for (const name of [
  '',
  ' a',
  'a ',
  'a  b',
  'a/',
  '/2',
  'a/1/2',
  'a(b)',
  'ä',
  'a\nb',
  'a'.repeat(201),
]) {
  application(`is refused: ${JSON.stringify(name).slice(0, 20)}`, () => {
    const options = { apiKey: KEY, application: name };
    assert.throws(() => new IdentityEngine(options), 'application must be a name like my-game/2.1');
  });
}

/** Runs `work` with this value of `IDENTITY_ENGINE_LOG`, and returns the written lines. */
async function logOf(level: string | undefined, work: () => Promise<unknown>): Promise<string[]> {
  const { error } = console;
  const lines: string[] = [];
  console.error = (...parts: unknown[]) => void lines.push(parts.join(' '));
  if (level !== undefined) process.env['IDENTITY_ENGINE_LOG'] = level;
  try {
    await work();
  } finally {
    console.error = error;
    delete process.env['IDENTITY_ENGINE_LOG'];
  }
  return lines.map((line) => line.replaceAll(/\d+ ms/g, 'N ms'));
}

const log = suite('the log of IDENTITY_ENGINE_LOG');

const busy = refusal(503, 'service_unavailable', 'overloaded');
const OBSERVATION = {
  ...({ mode_target: 'ORDER', signal_strength: 0.5 } as const),
  context: { password: 'of a user' },
};

for (const level of ['debug', 'warn', '', undefined]) {
  log(`has lines for ${level || 'no'} level`, async () => {
    await using server = await FakeServer.start(busy, data({}), proxyPage(404));
    const lines = await logOf(level, async () => {
      const client = clientOf(server);
      await client.instance('inst_1').process(OBSERVATION);
      await client.instances.list({ search: 'secret' }).catch(() => undefined);
    });
    const failed = [
      'identity-engine: POST /instances/inst_1/process, attempt 1: 503 service_unavailable ' +
        'overloaded, after N ms, request req_of_the_fake, retry in N ms',
      'identity-engine: GET /instances, attempt 1: MalformedAnswerError: answer 404 is not a valid ' +
        'answer of the service, after N ms',
    ];
    const succeeded =
      'identity-engine: POST /instances/inst_1/process, attempt 2: 200, after N ms, request ' +
      'req_of_the_fake';
    if (level === 'debug') assert.equal(lines, failed.toSpliced(1, 0, succeeded));
    else assert.equal(lines, level === 'warn' ? failed : []);
    assert.not.match(lines.join(), /svc_sk|password|of a user|secret|<html>/);
  });
}

log('has the connections of event streams', async () => {
  await using server = await FakeServer.start((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_1' });
    response.end('event: deleted\ndata: {}\n\n');
  });
  const lines = await logOf('debug', async () => {
    for await (const _ of clientOf(server).instance('inst_1').events());
  });
  const line = 'GET /instances/inst_1/events, attempt 1: 200, after N ms, request req_1';
  assert.equal(lines, [`identity-engine: ${line}`]);
});

log('leaves the hook onAttempt in place', async () => {
  await using server = await FakeServer.start(data({}));
  let count = 0;
  const onAttempt = () => {
    count += 1;
    throw new Error('of the hook');
  };
  const lines = await logOf('debug', () => clientOf(server, { onAttempt }).account.get());
  assert.equal([lines.length, count], [1, 1]);
});

log('refuses another level', async () => {
  const options = { apiKey: KEY };
  await logOf('verbose', async () => {
    const text = 'IDENTITY_ENGINE_LOG must be debug or warn, not "verbose"';
    assert.throws(() => new IdentityEngine(options), text);
  });
});

for (const each of [extra, raw, request, application, log]) each.run();
