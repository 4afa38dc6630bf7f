import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefusalShape } from '#test/support/calls/api-document';
import { newCaller } from '#test/support/calls/caller';
import { dial, RawConnection, requestText } from '#test/support/calls/raw-http';
import { startService } from '#test/support/servers/service';

/** Maximum shutdown time without a slow caller, in milliseconds. */
const PROMPT_MS_MAX = 3_000;

/** Starts a service, and sends SIGTERM to its API process while this process awaits a body. */
async function stoppingService() {
  const service = await startService();
  const caller = await newCaller(service);
  const auth = `Authorization: Bearer ${caller.key}`;
  const facing = service.processes.get('standalone') ?? service.processes.get('edge');
  assert.ok(facing);
  const connections = {
    busy: await dial(service),
    used: await dial(service),
    fresh: await dial(service),
  };
  connections.used.write(requestText('GET', '/v1/personas', [auth]));
  assert.is((await connections.used.next())?.status, 200);
  const headers = [
    auth,
    'Content-Type: application/json',
    'Content-Length: 12',
    'Expect: 100-continue',
  ];
  connections.busy.write(requestText('POST', '/v1/instances', headers));
  // The service has read the head once it answers 100 Continue.
  assert.is((await connections.busy.next())?.status, 100);
  const startedMs = performance.now();
  const ended = once(facing, 'exit').then(([code]) => ({
    code,
    tookMs: performance.now() - startedMs,
  }));
  facing.kill('SIGTERM');
  await connections.used.ended();
  return { service, auth, ended, ...connections };
}

/** Asserts exit code 0 within `msMax`. */
async function assertEnded(
  ended: Awaited<ReturnType<typeof stoppingService>>['ended'],
  msMax: number,
): Promise<void> {
  const { code, tookMs } = await ended;
  assert.is(code, 0);
  assert.ok(tookMs < msMax, `${tookMs} ms`);
}

const stopping = suite('a service that is asked to stop');

stopping('answers requests in progress, refuses later requests with 503, and ends', async () => {
  const { service, auth, ended, busy, fresh } = await stoppingService();
  await using _ = service;
  await fresh.ended();
  // One write, because the service closes the connection after its answer to the first request.
  busy.write(`{"name":"a"}${requestText('GET', '/v1/personas', [auth])}`);
  assert.is((await busy.next())?.status, 201);
  const refused = await busy.next();
  assert.ok(refused);
  assert.is(refused.status, 503);
  assertRefusalShape(refused);
  assert.is(refused.body.error, 'service_unavailable');
  assert.is(refused.body.details.reason, 'shutting_down');
  assert.is(refused.headers.get('retry-after'), '1');
  assert.is(refused.headers.get('connection'), 'close');
  await assertEnded(ended, PROMPT_MS_MAX);
});

stopping('accepts no new connections', async () => {
  const { service, ended, busy } = await stoppingService();
  await using _ = service;
  // The kernel may still accept a connection at this moment, but no process answers.
  let refusal = '';
  while (!refusal.includes('ECONNREFUSED')) {
    const connection = await dial(service).catch((error: unknown) => error);
    if (connection instanceof RawConnection) assert.is(await connection.next(), undefined);
    else refusal = String(connection);
    assert.ok(refusal === '' || /ECONNREFUSED|ECONNRESET/.test(refusal), refusal);
  }
  busy.socket.destroy();
  await assertEnded(ended, PROMPT_MS_MAX);
});

stopping('ends within 13 s although a request is never completed', async () => {
  const { service, ended, busy } = await stoppingService();
  await using _ = service;
  busy.write('{');
  await assertEnded(ended, 13_000);
});

stopping.run();
