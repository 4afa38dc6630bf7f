import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { watchLog } from '#test/fuzz/log-watch';
import { growthFlaws } from '#test/fuzz/memory';
import type { Party } from '#test/fuzz/party';
import { readAnswers } from '#test/fuzz/read-answers';
import { plannedTalk, playRound } from '#test/fuzz/round';
import { SCHEMA_EXCEPTIONS, type SchemaFailure } from '#test/fuzz/schema-exceptions';
import { SeededRandom } from '#test/simulation/seeded-random';

const PARTIES: readonly Party[] = ['first', 'second'].map((name, index) => ({
  name,
  key: `svc_sk_${String(index).repeat(50)}`,
  marker: `${name}-marker`,
  ids: [`inst_${String(index).repeat(16)}`],
}));

const HEADERS = {
  'X-RateLimit-Limit': '1',
  'X-RateLimit-Remaining': '1',
  'X-RateLimit-Reset': '1',
  'X-Monthly-Remaining': '1',
  'X-Request-Id': 'req_0123456789',
  Connection: 'close',
  'Content-Type': 'application/json; charset=utf-8',
};

const FINE = { status: 404, headers: HEADERS, body: '{"error":"not_found","message":"no"}' };

type Planted = { status?: number; headers?: Record<string, string>; body?: string };

/** The fuzzer's findings in a server that gives this answer to every request and then closes. */
async function foundWith(planted: Planted, seed = 7): Promise<string[]> {
  const { status, headers, body } = { ...FINE, ...planted };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${status} X`, ...lines, `Content-Length: ${body.length}`].join('\r\n');
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(`${head}\r\n\r\n${body}`));
  });
  return foundAt(server, seed);
}

/** The fuzzer's findings in an HTTP server that answers only `answered` requests per connection. */
async function foundWithin(answered: number): Promise<string[]> {
  const found: string[] = [];
  for (const seed of CONVERSATIONS) found.push(...(await foundAt(closingAfter(answered), seed)));
  return found;
}

/** Server that answers this number of requests on each connection, and then closes it. */
function closingAfter(answered: number): Server {
  const counts = new WeakMap<Socket, number>();
  const kept = { ...HEADERS, Connection: 'keep-alive', 'Content-Length': FINE.body.length };
  return createHttpServer(({ socket }, response) => {
    const count = (counts.get(socket) ?? 0) + 1;
    counts.set(socket, count);
    if (count > answered) socket.end();
    else response.writeHead(404, kept).end(FINE.body);
  });
}

/** The fuzzer's findings in a server. Closes the server. */
async function foundAt(server: Server, seed: number): Promise<string[]> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { findings } = await playRound(seed, port, PARTIES);
  server.close();
  return [...new Set(findings.flatMap(({ problems }) => problems))];
}

/** The headers without `name`. */
function without(name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(HEADERS).filter(([known]) => known !== name));
}

/** Seeds whose rounds together send one, two and five requests in a row. */
const CONVERSATIONS = [7, 8, 9, 11];

const finds = suite('the fuzzer');

finds('finds nothing in a correct server', async () => {
  assert.equal(await foundWith({}), []);
});

const BUGS: Record<string, [Planted, RegExp]> = {
  'a 500': [
    { status: 500, body: '{"error":"internal","message":"x","details":{"request_id":"a"}}' },
    /an undocumented 500/,
  ],
  'a 503 without a documented reason': [
    { status: 503, body: '{"error":"service_unavailable","message":"x"}' },
    /an undocumented 503/,
  ],
  'a 502 in HTML': [{ status: 502, body: '<html>' }, /an undocumented 502/],
  'a wrong envelope': [{ body: '{"message":"no such thing"}' }, /wrong envelope of 404/],
  'an undocumented field': [
    { body: '{"error":"not_found","message":"no","stack":"at x"}' },
    /wrong envelope of 404/,
  ],
  'a stack trace': [{ body: 'Error: x\n at y' }, /wrong envelope of 404/],
  'a missing request id': [{ headers: without('X-Request-Id') }, /no X-Request-Id/],
  'a missing limit header': [{ headers: without('X-Monthly-Remaining') }, /no x-monthly-remaining/],
  'a leak of a name': [
    { body: '{"error":"not_found","message":"it is second-marker"}' },
    /a leak from second: second-marker/,
  ],
  'a leak of an id': [
    { headers: { ...HEADERS, Location: `/v1/instances/${PARTIES[0]?.ids[0]}` } },
    /a leak from first: inst_0000/,
  ],
  'a leak of a key': [
    { body: `{"error":"not_found","message":"${PARTIES[1]?.key}"}` },
    /a leak from second: its key/,
  ],
  'an answer about another account’s instance': [
    { status: 200, body: '{"data":{}}' },
    /200 for another account's instance/,
  ],
  'a second answer after the first': [
    { body: `${FINE.body}HTTP/1.1 200 OK`, headers: { ...HEADERS, 'X-Length': '0' } },
    /wrong envelope|bytes that are no answer/,
  ],
};

for (const [name, [planted, pattern]] of Object.entries(BUGS)) {
  finds(`finds ${name}, without showing a key`, async () => {
    const problems = await foundWith(planted);
    assert.ok(
      problems.some((problem) => pattern.test(problem)),
      problems.join('\n'),
    );
    assert.not.match(problems.join('\n'), /svc_sk_/);
  });
}

finds('finds lost answers on a closed connection, even if only the last is lost', async () => {
  const lost = /^closed after \d of \d answers$/;
  const lostOf = async (answered: number) =>
    (await foundWithin(answered)).filter((problem) => lost.test(problem));
  assert.ok((await lostOf(0)).includes('closed after 0 of 1 answers'));
  assert.ok((await lostOf(1)).includes('closed after 1 of 2 answers'));
  assert.ok((await lostOf(4)).includes('closed after 4 of 5 answers'));
  assert.equal(await lostOf(5), []);
});

finds('finds memory growth, and shows how to reproduce the growth', () => {
  const before = new Map([
    ['edge', 100_000_000],
    ['engine', 100_000_000],
  ]);
  const after = new Map([
    ['edge', 120_000_000],
    ['engine', 200_000_000],
  ]);
  const flaws = growthFlaws(before, after, 'again: from 7');
  assert.is(flaws.length, 1);
  assert.match(flaws[0] ?? '', /memory of engine grew by 95 MiB,.*\nagain: from 7$/);
});

finds(
  'finds a logged error and the end of a process, each with the command that reproduces it',
  async () => {
    const script = `
    process.stderr.write('{"level":"warn"}\\n{"level":"error","msg":"a bug"}\\n');
    process.stdin.once('data', () => process.exit(3));
  `;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'ignore', 'pipe'] });
    let seed = 1;
    const watch = watchLog({ processes: new Map([['edge', child]]) }, () => `again: ${seed}`);
    while (watch.found.length === 0) await once(child.stderr, 'data');
    seed = 2;
    child.stdin.end('now');
    await once(child, 'close');
    assert.equal(watch.found, [
      'in the log of edge: {"level":"error","msg":"a bug"}\nagain: 1',
      'edge has ended with 3\nagain: 2',
    ]);
  },
);

const seeds = suite('a seed');

/** All bytes that a party sends for a seed. */
function sentFor(seed: number): string {
  const random = new SeededRandom(seed);
  const [party, ...others] = PARTIES;
  assert.ok(party !== undefined);
  const talks = Array.from({ length: 50 }, () => plannedTalk(random.fork(), party, others));
  return JSON.stringify(talks.map(({ script }) => script));
}

seeds('reproduces the same bytes, and another seed gives other bytes', () => {
  assert.is(sentFor(1), sentFor(1));
  assert.is.not(sentFor(1), sentFor(2));
});

const reading = suite('the data received on a connection');

reading('is parsed into answers, and the rest is kept', () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n';
  const bytes = Buffer.from(`HTTP/1.1 100 Continue\r\n\r\n${head}ab${head}cdXY`);
  const { answers, rest } = readAnswers(bytes, false);
  assert.equal(
    answers.map(({ text }) => text),
    ['ab', 'cd'],
  );
  assert.is(rest.toString(), 'XY');
});

const exceptions = suite('the accepted failures of Schemathesis');

exceptions('have a reason, and do not cover other failures', () => {
  const failure: SchemaFailure = {
    check: 'unsupported_method',
    message: 'x',
    operation: 'GET /personas',
    request: { headers: {}, text: '' },
    status: 404,
    answerHeaders: { allow: ['GET'] },
    reason: undefined,
    resultStatuses: [],
  };
  const isCovered = (changed: Partial<SchemaFailure>) =>
    SCHEMA_EXCEPTIONS.some(({ covers }) => covers({ ...failure, ...changed }));
  for (const { name, because } of SCHEMA_EXCEPTIONS) assert.ok(name !== '' && because !== '');
  assert.ok(isCovered({}));
  assert.not.ok(isCovered({ answerHeaders: {} }));
  assert.not.ok(isCovered({ status: 500 }));
  assert.not.ok(isCovered({ check: 'not_a_server_error', status: 500 }));
  const refused = { check: 'positive_data_acceptance', status: 422 };
  assert.ok(isCovered({ ...refused, reason: 'idempotency_key_reused' }));
  assert.not.ok(isCovered({ ...refused, reason: 'out_of_range' }));
  const forbidden = { headers: {}, text: '{"context":{"a":{"__proto__":1}}}' };
  assert.ok(isCovered({ ...refused, reason: 'unknown_field', request: forbidden }));
  assert.not.ok(isCovered({ ...refused, reason: 'unknown_field' }));
  const past = { ...refused, status: 400, reason: 'invalid_parameter' };
  const both = { headers: {}, text: 'GET /v1/instances/inst_1/states?points=3&cycles=1 HTTP/1.1' };
  assert.ok(isCovered({ ...past, request: both }));
  assert.not.ok(isCovered({ ...past, request: { headers: {}, text: 'GET /v1/states?points=0' } }));
  const applied = { check: 'negative_data_rejection', operation: 'POST /process', status: 200 };
  assert.ok(isCovered({ ...applied, resultStatuses: ['applied', 'refused'] }));
  assert.not.ok(isCovered({ ...applied, resultStatuses: ['applied'] }));
});

for (const each of [finds, seeds, reading, exceptions]) each.run();
