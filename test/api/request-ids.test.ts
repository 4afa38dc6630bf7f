import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { send } from '#test/support/calls/caller';
import { openScene } from '#test/support/calls/scene';
import { startService } from '#test/support/servers/service';
import { turnOfEvents } from '#test/support/settled';

const { service, caller, close } = await openScene();
const GENERATED = /^req_[0-9a-f]{32}$/;
const idIn = async (path: string, requestId: string) => {
  const answer = await caller.send('GET', path, { headers: { 'x-request-id': requestId } });
  return answer.headers.get('x-request-id') ?? '';
};

/** Paths outside the API, with the expected status. */
const DOCUMENTS = [
  ...['/docs', '/docs/start.js', '/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js'],
  ...['/docs/favicon.png', '/redoc', '/redoc/redoc.standalone.js', '/openapi.json'],
].map((path) => [path, 200] as const);
const BESIDE = [...DOCUMENTS, ['/docs/', 404], ['/redoc/x', 404], ['/', 404]] as const;

const own = suite('a request with an id from its caller');

for (const id of ['a'.repeat(8), 'Z'.repeat(64), 'A-b_c.9-0123', '........', 'req_0123']) {
  own(`such as ${id.slice(0, 16)} (${id.length} characters) is answered with that id`, async () => {
    assert.is(await idIn('/personas', id), id);
    assert.is(await idIn('/personas/persona_unknown', id), id);
    assert.is(await idIn('/no-such-path', id), id);
  });
}

own('is refused with that id if the key is missing', async () => {
  const answer = await send(service, 'GET', '/instances', {
    headers: { 'x-request-id': 'mine-12345' },
  });
  assert.is(answer.status, 401);
  assert.is(answer.headers.get('x-request-id'), 'mine-12345');
});

const bad = ['a'.repeat(7), 'a'.repeat(65), 'has space!', 'ünïcödé-id', 'semi;colon', '<script>'];

for (const id of bad) {
  own(
    `such as ${id.slice(0, 12)} (${id.length} characters) is answered with a new id`,
    async () => {
      assert.match(await idIn('/personas', Buffer.from(id).toString('latin1')), GENERATED);
    },
  );
}

const fresh = suite('a request without an id');

fresh('is answered with a new id, never the same twice', async () => {
  const id = await caller.createInstance();
  const seen = new Set<string>();
  const paths = ['/personas', `/instances/${id}`, '/nowhere', '/instances?limit=0'];
  for (const path of [...paths, ...paths]) {
    const answer = await caller.send('GET', path);
    assert.match(answer.headers.get('x-request-id') ?? '', GENERATED);
    seen.add(answer.headers.get('x-request-id') ?? '');
  }
  assert.is(seen.size, 8);
});

fresh('is answered with a new id outside the API as well', async () => {
  const response = await fetch(`${service.origin}/nowhere`);
  await response.text();
  assert.is(response.status, 404);
  assert.match(response.headers.get('x-request-id') ?? 'missing', GENERATED);
});

fresh('is answered with a new id on every documentation page', async () => {
  await using open = await startService({ SERVICE_DOCS_ENABLED: 'true' });
  const headers = { 'x-request-id': 'mine-12345' };
  for (const [path, status] of BESIDE) {
    for (const [sent, expected] of [
      [{}, GENERATED],
      [{ headers }, /^mine-12345$/],
    ] as const) {
      const response = await fetch(`${open.origin}${path}`, sent);
      await response.arrayBuffer();
      assert.is(response.status, status, path);
      assert.match(response.headers.get('x-request-id') ?? 'missing', expected, path);
    }
  }
  for (const [method, path] of [
    ['HEAD', '/docs'],
    ['POST', '/openapi.json'],
    ['OPTIONS', '/redoc'],
  ] as const) {
    const response = await fetch(`${open.origin}${path}`, { method, headers });
    assert.is(response.status, 404);
    assert.is(response.headers.get('x-request-id'), 'mine-12345');
  }
});

const logged = suite('the id of a request');

logged('is in the log line of its answer at the log level debug', async () => {
  await using talkative = await startService({ SERVICE_LOG_LEVEL: 'debug' });
  const headers = { 'x-request-id': 'find-me-in-the-log' };
  await send(talkative, 'GET', '/personas', { headers });
  const line = () =>
    talkative
      .log()
      .split('\n')
      .find((text) => text.includes('find-me-in-the-log'));
  const deadlineMs = performance.now() + 2_000;
  while (line() === undefined && performance.now() < deadlineMs) await turnOfEvents();
  const { requestId, status, msg } = JSON.parse(line() ?? '{}');
  assert.equal(
    { requestId, status, msg },
    {
      requestId: 'find-me-in-the-log',
      status: 401,
      msg: 'answered',
    },
  );
});

logged.after(close);

for (const each of [own, fresh, logged]) each.run();
