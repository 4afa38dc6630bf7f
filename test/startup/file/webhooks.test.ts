import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Caller, newCaller } from '#test/support/calls/caller';
import { createInstance } from '#test/support/calls/scene';
import { onFile, startStandalone } from '#test/support/servers/service';

/** The receivers of these tests are on loopback. */
const NETWORKS = { SERVICE_WEBHOOK_NETWORKS: '127.0.0.0/8,::1' };

/** Maximum time of a delivery on a busy machine, in milliseconds. */
const LATE_MS = 60_000;

type Received = { readonly id: string; readonly headers: Record<string, string>; body: string };

/** Endpoint on loopback, which answers with `answer.status`. */
async function openReceiver() {
  const received: Received[] = [];
  const answer = { status: 204 };
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      const headers = request.headers as Record<string, string>;
      received.push({ id: `${headers['webhook-id']}`, headers, body });
      response.writeHead(answer.status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    received,
    answer,
    url: `http://localhost:${port}/hook`,
    /** Instances of the received messages. */
    instances: () => new Set(received.flatMap(({ body }) => instancesIn(body))),
    [Symbol.dispose]: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function instancesIn(body: string): string[] {
  const { data } = JSON.parse(body);
  return data.map((event: { readonly instance_id: string }) => event.instance_id);
}

async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endMs = performance.now() + LATE_MS;
  while (!(await isSo())) {
    assert.ok(performance.now() < endMs, what);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function webhookOf(caller: Caller, url: string) {
  const answer = await caller.send('POST', '/webhooks', { json: { url } });
  assert.is(answer.status, 201, answer.text);
  return answer.body.data;
}

const webhooks = suite('webhooks of a service on a file');

// After the clean stop, nothing but the list of accounts with endpoints starts the loop.
webhooks('go on after a clean stop and after kill -9, and nothing is lost', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-webhooks-'));
  using _ = { [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
  using receiver = await openReceiver();
  const { received, answer } = receiver;
  const variables = { ...onFile(join(folder, 'service.db')), ...NETWORKS };
  const made: string[] = [];
  let secret = '';
  {
    await using service = await startStandalone(variables);
    const caller = await newCaller(service);
    ({ secret } = await webhookOf(caller, receiver.url));
    await createInstance(caller);
    await until(() => received.length > 0, 'the first message');
    answer.status = 503;
    for (let count = 0; count < 3; count += 1) made.push(await createInstance(caller));
    await until(() => received.length > 3, 'failed messages');
  }
  received.length = 0;
  {
    await using service = await startStandalone(variables);
    await until(() => receiver.instances().size >= 1, 'an attempt after the stop');
    for (const [, child] of service.processes) child.kill('SIGKILL');
  }
  received.length = 0;
  answer.status = 200;
  await using __ = await startStandalone(variables);
  await until(() => made.every((id) => receiver.instances().has(id)), 'all after the kill');
  const verifier = new Webhook(secret);
  const bodies = new Map<string, string>();
  for (const { id, headers, body } of received) {
    verifier.verify(body, headers);
    assert.is(bodies.get(id) ?? body, body, 'the same id has the same content');
    bodies.set(id, body);
  }
});

// The caller of the service did nothing, so only the service itself can report it.
webhooks('are paused after status 410, and the account and its trail say so', async () => {
  using receiver = await openReceiver();
  receiver.answer.status = 410;
  await using service = await startStandalone(NETWORKS);
  const caller = await newCaller(service, { scope: 'full audit' });
  const { id } = await webhookOf(caller, receiver.url);
  await createInstance(caller);
  const counts = async () => (await caller.send('GET', '/account')).body.data.webhooks;
  await until(async () => (await counts()).paused === 1, 'the pause');
  assert.equal(await counts(), { active: 0, failing: 0, paused: 1 });
  const lines = async () => (await caller.send('GET', '/audit?action=webhook.pause')).body.data;
  await until(async () => (await lines()).length === 2, 'both lines');
  const [done, begun] = await lines();
  assert.equal([done.outcome, done.actor, done.target], ['done', { kind: 'service' }, id]);
  assert.equal(done.after, { paused: 'removed' });
  assert.is(begun.outcome, 'begun');
  assert.is(receiver.received.length, 1);
});

webhooks.run();
