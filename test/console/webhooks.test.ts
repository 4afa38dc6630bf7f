import { Webhook } from 'standardwebhooks';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AuditRow } from '#console/answers';
import type { Browser } from '#test/console/browser';
import { openConsole, type TestConsole } from '#test/console/console-fixture';
import { openReceiver, type Receiver, until } from '#test/console/webhook-receiver';

const INTERNAL = { areWebhooksInternal: true };

/** Console whose engine delivers to a real receiver. */
async function openHooks() {
  await using opening = new AsyncDisposableStack();
  const receiver = opening.use(await openReceiver());
  const desk = opening.use(await openConsole(INTERNAL, {}, receiver.courier));
  const owner = await desk.owner();
  const { data } = await owner.expect(201, 'POST', '/webhooks', { url: receiver.url });
  const opened = opening.move();
  return {
    ...{ desk, owner, receiver, id: String(data['id']), secret: String(data['secret']) },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function deliveriesOf(browser: Browser, id: string) {
  return (await browser.expect(200, 'GET', `/webhooks/${id}/deliveries`)).body.data;
}

/** Creates an instance, and waits for its message. */
async function deliverOne(desk: TestConsole, owner: Browser, { received }: Receiver) {
  const before = received.length;
  await owner.expect(201, 'POST', '/instances', { name: 'Iris' });
  await until(desk, () => received.length > before);
}

const hooks = suite('a member of the account');

hooks('creates an endpoint, gets signed messages, and sees request and response', async () => {
  await using scene = await openHooks();
  const { desk, owner, receiver, id, secret } = scene;
  await deliverOne(desk, owner, receiver);
  const [message] = receiver.received;
  const verified = new Webhook(secret).verify(message?.body ?? '', message?.headers ?? {});
  assert.equal(verified, JSON.parse(message?.body ?? ''));
  await until(desk, async () => (await deliveriesOf(owner, id)).attempts.length > 0);
  const [attempt] = (await deliveriesOf(owner, id)).attempts;
  assert.equal([attempt.message_id, attempt.failure], [`${id}-0`, null]);
  assert.equal(attempt.request, { body: message?.body, is_truncated: false });
  assert.equal(attempt.response, {
    ...{ status: 200, content_type: 'application/json' },
    ...{ body: '{"received":true}', is_truncated: false },
  });
  const { data } = await owner.expect(200, 'GET', `/webhooks/${id}`);
  assert.equal([data['changes_behind'], data['secret']], [0, undefined]);
});

hooks('sends a test message, and a change again after a failure', async () => {
  await using scene = await openHooks();
  const { desk, owner, receiver, id } = scene;
  receiver.answerWith(500);
  const { data: refused } = await owner.expect(200, 'POST', `/webhooks/${id}/test`);
  assert.is(refused['failure'], 'status 500');
  assert.match(JSON.stringify(refused['response']), /no database/);
  receiver.answerWith(200);
  const { data: accepted } = await owner.expect(200, 'POST', `/webhooks/${id}/test`);
  assert.is(accepted['failure'], null);
  await deliverOne(desk, owner, receiver);
  const count = receiver.received.length;
  await owner.expect(200, 'POST', `/webhooks/${id}/redeliver`, { positions: [0] });
  await until(desk, () => receiver.received.length > count);
  assert.is(receiver.received.at(-1)?.id, `${id}-0`);
});

hooks('leaves audit lines with user, session and address', async () => {
  await using scene = await openHooks();
  const { desk, owner, receiver, id } = scene;
  await deliverOne(desk, owner, receiver);
  await owner.expect(200, 'PATCH', `/webhooks/${id}`, { description: 'ours' });
  await owner.expect(200, 'POST', `/webhooks/${id}/rotate`);
  await owner.expect(200, 'POST', `/webhooks/${id}/redeliver`, { positions: [0] });
  await owner.expect(200, 'DELETE', `/webhooks/${id}`);
  const { body } = await owner.expect(200, 'GET', `/audit?action=webhook&search=${id}`);
  const { data: me } = await owner.expect(200, 'GET', '/me');
  const { user, session } = me as Record<string, { id: string }>;
  assert.equal(
    body.data.map(({ action }: AuditRow) => action),
    ['delete', 'redeliver', 'rotate', 'update', 'create'].map((each) => `webhook.${each}`),
  );
  for (const { actor, address } of body.data) {
    assert.equal([actor.kind, actor.id, actor.session], ['user', user?.id, session?.id]);
    assert.is(address, '203.0.113.7');
  }
});

hooks('reads the log of the account, newest first, and the events after a page', async () => {
  await using scene = await openHooks();
  const { desk, owner, receiver } = scene;
  for (let count = 0; count < 3; count += 1) await deliverOne(desk, owner, receiver);
  const { body } = await owner.expect(200, 'GET', '/events?order=desc&limit=2');
  const [newest, older] = body.data;
  assert.equal([newest.type, older.type, body.pagination.has_more], ['created', 'created', true]);
  await deliverOne(desk, owner, receiver);
  const after = `/events?cursor=${body.pagination.newer_cursor}`;
  assert.is((await owner.expect(200, 'GET', after)).body.data.length, 1);
  const last = `/events?order=desc&cursor=${body.pagination.next_cursor}`;
  assert.is((await owner.expect(200, 'GET', last)).body.data.length, 1);
  const wrong = await owner.send('GET', '/events?order=desc&start=oldest');
  assert.equal([wrong.status, wrong.reason], [400, 'invalid_parameter']);
});

const roles = suite('webhooks');

roles('are shown to a viewer, who changes nothing', async () => {
  await using scene = await openHooks();
  const { desk, owner, receiver, id } = scene;
  const viewer = await desk.member(owner, 'vera@example.com', 'viewer');
  const billing = await desk.member(owner, 'bill@example.com', 'billing');
  for (const path of ['', `/${id}`, `/${id}/deliveries`]) {
    await viewer.expect(200, 'GET', `/webhooks${path}`);
    assert.is((await billing.send('GET', `/webhooks${path}`)).reason, 'role_not_allowed');
  }
  const writes = [
    ['POST', '/webhooks', { url: receiver.url }],
    ['PATCH', `/webhooks/${id}`, { is_paused: true }],
    ['POST', `/webhooks/${id}/rotate`, undefined],
    ['POST', `/webhooks/${id}/test`, undefined],
    ['POST', `/webhooks/${id}/redeliver`, { positions: [0] }],
    ['DELETE', `/webhooks/${id}`, undefined],
  ] as const;
  for (const [method, path, body] of writes) {
    const { status, reason } = await viewer.send(method, path, body);
    assert.equal([status, reason], [403, 'role_not_allowed'], `${method} ${path}`);
  }
  assert.is(receiver.received.length, 0);
  const { body } = await owner.expect(200, 'GET', '/audit?action=webhook');
  assert.is(body.data.length, 1, 'only the creation');
});

// With the wrong setting, a console would refuse the addresses that an edge accepts.
roles('may lead to internal networks only if the operator allows that', async () => {
  for (const [config, status] of [
    [{}, 422],
    [INTERNAL, 201],
  ] as const) {
    await using desk = await openConsole(config);
    const owner = await desk.owner();
    const answer = await owner.send('POST', '/webhooks', { url: 'http://10.0.0.1/hook' });
    assert.is(answer.status, status);
  }
});

for (const group of [hooks, roles]) group.run();
