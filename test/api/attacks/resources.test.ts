import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefusalShape } from '#test/support/calls/api-document';
import { dial, type RawConnection, requestText, sendRaw } from '#test/support/calls/raw-http';
import { assertRefused, limitOf, observationAt, openScene } from '#test/support/calls/scene';
import { metricValues } from '#test/support/metric-values';

const { service, caller, close } = await openScene();
const auth = `Authorization: Bearer ${caller.key}`;
const json = 'Content-Type: application/json';
const id = await caller.createInstance();
const batchPath = `/instances/${id}/process/batch`;
const cycles = async () => (await caller.send('GET', `/instances/${id}`)).body.data.cycle_count;
const gauge = async (name: string) => (await metricValues(service)).get(name) ?? Number.NaN;
const activeRequests = () => gauge('http_server_active_requests');
const unfinishedBodies = () => gauge('edge_unfinished_bodies');
const residentBytes = async () =>
  (await metricValues(service)).get('process_resident_memory_bytes') ?? Number.NaN;

/** Maximum process growth under an attack that should cost little memory, in bytes. */
const GROWTH_BYTES_MAX = 150 * 1_024 * 1_024;

/** Number of requests in one wave. */
const WAVE = 500;
/** Maximum number of requests to send to a service whose answers are not read. */
const UNREAD_MAX = 10_000;

const personasAnswered = async () => {
  const route = /^http_server_request_duration_seconds_count{.*http_route="\/personas"/;
  const series = [...(await metricValues(service))].filter(([name]) => route.test(name));
  return series.reduce((sum, [, count]) => sum + count, 0);
};

/** Whether `wanted` requests are answered. Gives up after 2 s without an answer. */
async function reachesAnswered(wanted: number): Promise<boolean> {
  let answered = await personasAnswered();
  for (let stood = 0; answered < wanted && stood < 40; stood += 1) {
    await sleep(50);
    const now = await personasAnswered();
    if (now > answered) stood = 0;
    answered = now;
  }
  return answered >= wanted;
}

const sizes = suite('a body');

sizes('of 257 KiB is refused with 413 on every endpoint', async () => {
  const body = JSON.stringify({ name: 'x'.repeat(257 * 1_024) });
  for (const path of ['/instances', batchPath, `/instances/${id}/process`]) {
    const answer = await caller.send('POST', path, { body });
    assertRefused(answer, 413, 'invalid_request', { reason: 'body_too_large' });
  }
});

sizes('of 33 KiB is refused with 413 except in a batch', async () => {
  const body = ' '.repeat(33 * 1_024);
  assert.is((await caller.send('POST', `/instances/${id}/process`, { body })).status, 413);
  assert.is((await caller.send('POST', batchPath, { body })).status, 400);
});

sizes('with an announced length of 50 GB is refused with 413 before it is sent', async () => {
  const headers = [auth, json, 'Content-Length: 50000000000'];
  const answer = await sendRaw(service, requestText('POST', '/v1/instances', headers));
  assert.is(answer.status, 413);
  assertRefusalShape(answer);
});

sizes('in endless chunks is refused with 413 once it is too large', async () => {
  using connection = await dial(service);
  const headers = [auth, json, 'Transfer-Encoding: chunked'];
  connection.write(requestText('POST', '/v1/instances', headers));
  const chunk = `1000\r\n${'x'.repeat(4_096)}\r\n`;
  for (let i = 0; i < 9; i += 1) connection.write(chunk);
  const answer = await connection.next();
  assert.is(answer?.status, 413);
});

for (const depth of [25, 1_000, 100_000]) {
  sizes(`${depth} levels deep is refused with 422`, async () => {
    for (const [open, shut] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const levels = open.length === 1 ? depth : Math.min(depth, 30_000);
      const body = `${open.repeat(levels)}1${shut.repeat(levels)}`;
      const answer = await caller.send('POST', batchPath, { body });
      assertRefused(answer, 422, 'invalid_request', { reason: 'too_deep' });
    }
  });
}

sizes('of 20,000 keys is refused within a second', async () => {
  const keys = Array.from({ length: 20_000 }, (_, index) => `"k${index}":0`);
  const tookMs: number[] = [];
  while (tookMs.length < 3) {
    const startedMs = performance.now();
    const answer = await caller.send('POST', batchPath, { body: `{${keys.join()}}` });
    assert.is(answer.status, 422);
    tookMs.push(performance.now() - startedMs);
  }
  // Use the fastest of three runs: a busy machine may pause during one of them.
  assert.ok(Math.min(...tookMs) < 1_000, `${tookMs} ms`);
});

sizes('of a million keys is refused with 413', async () => {
  const body = `{${Array.from({ length: 1_000_000 }, (_, index) => `"${index}":0`).join()}}`;
  const headers = [auth, json, `Content-Length: ${body.length}`];
  const answer = await sendRaw(service, requestText('POST', `/v1${batchPath}`, headers));
  assert.is(answer.status, 413);
});

sizes('of 101 observations is refused with 422 and none is applied', async () => {
  const observations = Array.from({ length: 101 }, (_, index) => observationAt(index));
  const answer = await caller.send('POST', batchPath, { json: { observations } });
  const details = { field: 'observations', reason: 'too_long' };
  assertRefused(answer, 422, 'invalid_request', details);
  assert.is(await cycles(), 0);
});

sizes('with one wrong observation among 100 is refused with 422 and none is applied', async () => {
  const observations = Array.from({ length: 100 }, (_, index) => observationAt(index));
  observations[99] = observationAt(99, { signal_strength: 2 });
  const answer = await caller.send('POST', batchPath, { json: { observations } });
  const details = { field: 'observations[99].signal_strength', reason: 'out_of_range' };
  assertRefused(answer, 422, 'invalid_request', details);
  assert.is(await cycles(), 0);
});

sizes('with a context of 8 KiB is accepted, and with one byte more refused with 422', async () => {
  const filler = 8 * 1_024 - '{"a":""}'.length;
  const observation = (length: number, text = 'x') =>
    observationAt(0, { context: { a: text.repeat(length) } });
  const path = `/instances/${await caller.createInstance()}/process`;
  const details = { field: 'context', reason: 'too_long' };
  for (const wrong of [observation(filler + 1), observation(filler / 2 + 1, 'é')]) {
    assertRefused(
      await caller.send('POST', path, { json: wrong }),
      422,
      'invalid_request',
      details,
    );
  }
  assert.is((await caller.send('POST', path, { json: observation(filler) })).status, 200);
});

const pages = suite('a page');

const NO_INTEGER = ['-1', '1.5', 'NaN', '0x10', '1e3', '1e9', '', ' 1', '1,000', '٣', 'Infinity'];

for (const value of [...NO_INTEGER, '0', '1001', '1000000000', '9'.repeat(400)]) {
  pages(`with limit=${value.slice(0, 12)} is refused with 400`, async () => {
    for (const path of ['/instances', `/instances/${id}/history`, `/instances/${id}/drift`]) {
      const answer = await caller.send('GET', `${path}?limit=${encodeURIComponent(value)}`);
      const details = { field: 'limit', reason: 'invalid_parameter' };
      assertRefused(answer, 400, 'invalid_request', details);
    }
  });
}

for (const value of [...NO_INTEGER, '9007199254740992', '99999999999999999999']) {
  pages(`with offset=${value} is refused with 400`, async () => {
    for (const path of ['/instances', `/instances/${id}/history`, `/instances/${id}/drift`]) {
      const answer = await caller.send('GET', `${path}?offset=${encodeURIComponent(value)}`);
      const details = { field: 'offset', reason: 'invalid_parameter' };
      assertRefused(answer, 400, 'invalid_request', details);
    }
  });
}

pages('with a repeated parameter is refused with 400', async () => {
  for (const query of ['limit=1&limit=2', 'limit[]=1', 'limit[a]=1', 'sort=name&sort=name']) {
    assert.is((await caller.send('GET', `/instances?${query}`)).status, 400, query);
  }
});

pages('at the largest offset is empty', async () => {
  const offset = Number.MAX_SAFE_INTEGER;
  for (const path of ['/instances', `/instances/${id}/history`, `/instances/${id}/drift`]) {
    const answer = await caller.send('GET', `${path}?offset=${offset}`);
    assert.is(answer.status, 200);
    assert.equal(answer.body.data, []);
  }
});

const slow = suite('a slow sender');

slow('that sends nothing, half a head or half a body gets 408 and is disconnected', async () => {
  const half = requestText('POST', '/v1/instances', [auth, json, 'Content-Length: 100']);
  const cases = [
    ['', 0],
    ['GET /v1/instances HTTP/1.1\r\nHost: x\r\nX-Slow: ', 0],
    [`${half}{"name"`, 1_000_000],
  ] as const;
  const startedMs = performance.now();
  await Promise.all(
    cases.map(async ([bytes, limit]) => {
      using connection = await dial(service);
      connection.write(bytes);
      const answer = await connection.next();
      assert.is(answer?.status, 408, bytes);
      assert.ok(answer);
      assertRefusalShape(answer);
      assert.is(answer.body.details.reason, 'request_timeout');
      assert.is(limitOf(answer, 'limit'), limit);
      await connection.ended();
    }),
  );
  assert.ok(performance.now() - startedMs < 13_000);
});

slow('is refused early if the rest of the body cannot change the answer', async () => {
  using connection = await dial(service);
  connection.write(requestText('POST', '/v1/instances', [json, 'Content-Length: 100']));
  assert.is((await connection.next())?.status, 401);
});

/** Waits until `counted` returns `count`. Throws after 8 s. */
async function reaches(counted: () => Promise<number>, count: number): Promise<void> {
  const deadlineMs = performance.now() + 8_000;
  for (let found = await counted(); found !== count; found = await counted()) {
    if (performance.now() > deadlineMs)
      throw new Error(`the count is ${found} instead of ${count}`);
    await caller.send('GET', '/personas');
  }
}

slow('that disconnects leaves no active request and no error in the log', async () => {
  await reaches(unfinishedBodies, 0);
  const head = requestText('POST', '/v1/instances', [auth, json, 'Content-Length: 100']);
  const connections = await Promise.all(Array.from({ length: 50 }, () => dial(service)));
  for (const connection of connections) connection.write(`${head}{`);
  await reaches(unfinishedBodies, 50);
  assert.is(await activeRequests(), 0);
  for (const connection of connections) connection.socket.resetAndDestroy();
  await reaches(unfinishedBodies, 0);
  await reaches(activeRequests, 0);
  assert.not.match(service.log(), /"level":"error"/);
});

slow('that disconnects during its answer leaves no active request either', async () => {
  for (let i = 0; i < 50; i += 1) {
    const connection = await dial(service);
    connection.write(requestText('GET', '/v1/personas', [auth]).repeat(20));
    connection.socket.resetAndDestroy();
  }
  await reaches(activeRequests, 0);
});

const many = suite('many connections');

many('that send nothing are closed and block no other caller', async () => {
  const before = await residentBytes();
  const idle: RawConnection[] = [];
  while (idle.length < 5_000) {
    // Connect in waves, with an answer between waves. Otherwise connections would wait in the
    // kernel's queue: open for the test, but not accepted by the service.
    idle.push(...(await Promise.all(Array.from({ length: 250 }, () => dial(service)))));
    assert.is((await caller.send('GET', '/instances')).status, 200);
  }
  await caller.process(id, observationAt(0));
  const grown = (await residentBytes()) - before;
  assert.ok(grown < GROWTH_BYTES_MAX, `${grown} bytes`);
  await Promise.all(idle.map((connection) => connection.ended()));
});

many('are served in parallel: 100 reads of one instance are answered 200', async () => {
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => caller.send('GET', `/instances/${id}`)),
  );
  assert.ok(answers.every(({ status }) => status === 200));
});

many('accumulate no answers for a client that never reads', async () => {
  using deaf = await dial(service);
  deaf.socket.pause();
  const wave = requestText('GET', '/v1/personas', [auth]).repeat(WAVE);
  const before = await personasAnswered();
  let sent = 0;
  // Count requests instead of memory: the time of a garbage collection depends on the load.
  do {
    assert.ok(sent < UNREAD_MAX, `${sent} answers wait`);
    deaf.write(wave);
    sent += WAVE;
  } while (await reachesAnswered(before + sent));
  assert.ok(sent > WAVE, 'not even one wave was answered');
  assert.is((await caller.send('GET', `/instances/${id}`)).status, 200);
  deaf.socket.removeAllListeners('data').resume();
  assert.ok(await reachesAnswered(before + sent), 'the client must be served when it reads again');
});

many.after(close);

for (const each of [sizes, pages, slow, many]) each.run();
