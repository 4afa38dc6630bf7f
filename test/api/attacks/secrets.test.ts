import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf, formatApiKey } from '#accounts/api-key';
import { requestText, sendRaw } from '#test/support/calls/raw-http';
import { observationAt, openScene } from '#test/support/calls/scene';
import { metricValues } from '#test/support/metric-values';

const { service, caller, close } = await openScene({ SERVICE_LOG_LEVEL: 'debug' });
const { key, accountId } = caller;
const secret = key.slice(-38, -6);

/** Every form in which a key could be used or recognised. */
const SECRETS = [
  key,
  secret,
  digestOf(key),
  Buffer.from(digestOf(key), 'base64url').toString('hex'),
];

function assertHoldsNone(text: string, where: string): void {
  for (const each of SECRETS) assert.not.ok(text.includes(each), `a secret is in ${where}`);
}

/** Sends requests that are logged in different ways, with the key in different parts. */
async function everyKind(): Promise<void> {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(0));
  await caller.send('GET', '/none');
  await caller.send('POST', '/instances', { body: '{broken' });
  await caller.send('POST', '/instances', { json: { name: key, description: secret } });
  await caller.send('GET', `/instances/${key}`);
  await caller.send('GET', `/instances?api_key=${key}`);
  const auth = `Authorization: Bearer ${key}`;
  const raw = [
    requestText('GET', '/v1/%zz', [auth]),
    requestText('GET', '/v1/instances', [auth, auth]),
    requestText('GET', '/v1/instances', [auth, 'Expect: x']),
    requestText('GET', '/v1/instances', [auth, `User-Agent: ${key}`, `X-Request-Id: ${secret}x x`]),
    requestText('GET', '/v1/instances', [`Authorization: Basic ${key}`]),
    `GET /v1/instances HTTP/1.0\r\n${auth}\r\n\r\n`,
    `GET /v1/instances HTTP/1.1\r\n${auth}\r\nBroken : x\r\n\r\n`,
    requestText('GET', '/v1/instances', [
      `Authorization: Bearer ${formatApiKey(accountId, 'x'.repeat(32))}`,
    ]),
  ];
  for (const bytes of raw) await sendRaw(service, bytes);
}

/** Returns the log after it contains the lines of all answered requests. */
async function wholeLog(): Promise<string> {
  const marker = `marker-${crypto.randomUUID()}`;
  while (!service.log().includes(marker)) {
    await caller.send('GET', '/personas', { headers: { 'x-request-id': marker } });
  }
  return service.log();
}

const logs = suite('at the most verbose log level');

logs('no line holds a key, its secret or its digest', async () => {
  await everyKind();
  assertHoldsNone(await wholeLog(), 'the log');
});

logs('no line holds a name, a description or a context', async () => {
  const id = await caller.createInstance({ name: 'Confidential', description: 'private-matter' });
  await caller.process(id, observationAt(0, { context: { diary: 'dear-diary' } }));
  assert.not.match(await wholeLog(), /Confidential|private-matter|dear-diary/);
});

logs('every line is one JSON object, whatever the request', async () => {
  const injected = 'x\\n{"level":30,"msg":"forged"}';
  await caller.send('POST', '/instances', { json: { name: 'a\n{"level":30,"msg":"forged"}' } });
  await caller.send('GET', `/instances/${encodeURIComponent(injected)}`);
  for (const line of linesOf(await wholeLog())) {
    assert.type(JSON.parse(line), 'object');
    assert.is.not(JSON.parse(line).msg, 'forged');
  }
});

logs('the line of a request contains the request id', async () => {
  const headers = { 'x-request-id': 'find-me-again' };
  await caller.send('GET', '/instances', { headers });
  const lines = linesOf(await wholeLog()).map((line) => JSON.parse(line));
  assert.ok(lines.some((line) => line.requestId === 'find-me-again' && line.status === 200));
});

/** Splits the log into complete lines, without the last line, which may be incomplete. */
function linesOf(log: string): string[] {
  return log.split('\n').slice(0, -1);
}

const answers = suite('the output of the service');

answers('contains no key after an error', async () => {
  for (const path of [`/instances/${key}`, `/personas/${key}`, `/instances?${key}=1`]) {
    const answer = await caller.send('GET', path);
    if (!path.includes('?')) assertHoldsNone(answer.text, path);
    assert.not.match(answer.text, /\bat .*:\d+:\d+|node_modules|\.ts\b|Error:/, 'a stack trace');
  }
});

answers('contains no key, account or instance in a metric', async () => {
  const id = await caller.createInstance();
  await caller.send('GET', `/instances/${id}`);
  const series = [...(await metricValues(service)).keys()].join('\n');
  assertHoldsNone(series, 'a metric');
  assert.not.ok(series.includes(accountId) || series.includes(id));
});

answers('does not reveal the software that the service uses', async () => {
  const answer = await caller.send('GET', '/instances');
  for (const name of ['server', 'x-powered-by', 'via']) {
    assert.is(answer.headers.get(name), null, name);
  }
});

answers.after(close);

for (const each of [logs, answers]) each.run();
