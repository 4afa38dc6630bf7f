import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Browser } from '#test/console/browser';
import { ACCOUNT_ID, openConsole, type TestConsole } from '#test/console/console-fixture';

const steps = suite('the first steps of an account');

const stepsOf = async (browser: Browser) =>
  (await browser.expect(200, 'GET', '/start')).data['steps'];

const NONE = {
  ...{ key: false, call: false, instance: false },
  ...{ observation: false, connection: false },
};

/** Steps after the time for which an answer is kept. */
async function laterSteps(desk: TestConsole, owner: Browser) {
  desk.clock.advance(5_000);
  return await stepsOf(owner);
}

steps('are derived from the data of the account', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  assert.equal(await laterSteps(desk, owner), NONE);
  await desk.admin.createKey(ACCOUNT_ID, { name: 'worker', scope: 'full' });
  assert.equal(await laterSteps(desk, owner), { ...NONE, key: true });
  const { data } = await owner.expect(201, 'POST', '/instances', { name: 'Ada' });
  assert.equal(await laterSteps(desk, owner), { ...NONE, key: true, instance: true });
  const observation = { mode_target: 'ORDER', signal_strength: 0.5 };
  await owner.expect(200, 'POST', `/instances/${data['id']}/process`, observation);
  const present = { ...NONE, key: true, instance: true, observation: true };
  assert.equal(await laterSteps(desk, owner), present);
  const webhook = { url: 'https://hooks.example.com/in' };
  await owner.expect(201, 'POST', '/webhooks', webhook);
  assert.equal(await laterSteps(desk, owner), { ...present, connection: true });
});

steps('come with the number of instances and the limit of the plan', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  await owner.expect(201, 'POST', '/instances', { name: 'Ada' });
  const { data } = await owner.expect(200, 'GET', '/start');
  assert.equal(data['instances'], { count: 1, max: 1_000 });
});

steps('cost the account no request', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  for (let count = 0; count < 20; count += 1) await stepsOf(owner);
  const { data } = await owner.expect(200, 'GET', '/usage');
  assert.is(data['requests_in_window'], 0);
});

steps('are refreshed by an unattended page without extending the session', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  for (let minutes = 0; minutes < 31; minutes += 1) {
    await owner.send('GET', '/start', undefined, { 'x-unattended': 'true' });
    desk.clock.advance(60_000);
  }
  const { status } = await owner.send('GET', '/start', undefined, { 'x-unattended': 'true' });
  assert.is(status, 401);
});

steps('are hidden from roles without instances', async () => {
  await using desk = await openConsole();
  const payer = await desk.member(await desk.owner(), 'bob@example.com', 'billing');
  assert.is((await payer.send('GET', '/start')).status, 403);
});

steps.run();
