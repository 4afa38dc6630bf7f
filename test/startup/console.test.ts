import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeSetUpLink } from '#console/people/entry';
import { freePort } from '#deploy/local/servers/free-port';
import { systemClock } from '#stdlib/clock';
import { systemRandomness } from '#stdlib/randomness';
import { cassandraAccountStore } from '#storage/cassandra/accounts';
import { cassandraMemberStore } from '#storage/cassandra/people';
import { Browser } from '#test/console/browser';
import { PASSWORD, tokenIn } from '#test/console/console-fixture';
import { openMigratedKeyspace } from '#test/storage/cassandra/migrated-keyspace';
import { runMain } from '#test/support/process-run';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';

const cassandra = cassandraOrSkip();
const nats = natsOrSkip();

const OWNER = { email: 'ada@example.com', password: PASSWORD, name: 'Ada' };

const beside = suite('the console of a standalone process');

beside('opens with the printed link, and its cookies do not authorize API calls', async () => {
  const run = runMain(['standalone'], { SERVICE_LOCAL_ACCOUNT: 'true' });
  await run.says(/Ctrl-C/);
  const [, link = '', origin = ''] =
    /Console {2}((http:\S+)\/#\/set-up\/\S+)/.exec(run.stdout()) ?? [];
  const browser = new Browser(origin, { origin, from: '127.0.0.1' });
  await browser.expect(201, 'POST', '/setup', { ...OWNER, token: tokenIn(link) });
  const { data } = await browser.expect(200, 'GET', '/me');
  assert.equal(data['account'], { id: 'localAccount', name: 'local' });
  const [, api = ''] = /API {6}(http:\S+\/v1)/.exec(run.stdout()) ?? [];
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const key = /svc_sk_[0-9A-Za-z]{50}/.exec(run.stdout())?.[0];
  const asked = async (headers: Record<string, string>) => {
    const answer = await fetch(`${api}/account`, { headers });
    await answer.text();
    assert.is(answer.headers.get('set-cookie'), null);
    return answer.status;
  };
  assert.is(await asked({ cookie }), 401);
  assert.is(await asked({ authorization: `Bearer ${key}` }), 200);
  assert.is(await asked({ authorization: `Bearer ${key}`, cookie }), 200);
  const { data: lines } = await browser.expect(200, 'GET', '/audit');
  assert.match(JSON.stringify(lines), /"action":"account\.set_up"/);
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0, run.stderr());
  for (const secret of [PASSWORD, tokenIn(link), browser.cookies.get('session') ?? '']) {
    assert.is(`${run.stderr()} ${JSON.stringify(lines)}`.includes(secret), false);
  }
});

for (const [what, variables, shown] of [
  ['its own listener', {}, /^\{"api_url":"http:\/\/127\.0\.0\.1:\d+\/v1"\}$/],
  [
    'the configured base URL, with its documentation',
    { SERVICE_API_URL: 'https://api.example.com/v1', SERVICE_DOCS_ENABLED: 'true' },
    /"https:\/\/api\.example\.com\/v1","api_docs_url":"https:\/\/api\.example\.com\/docs"/,
  ],
  [
    'no address if visitors of a public console cannot reach the listener',
    { SERVICE_CONSOLE_ORIGIN: 'https://console.example.com' },
    /^\{\}$/,
  ],
] as const) {
  beside(`shows members ${what}`, async () => {
    const port = await freePort();
    const own = { SERVICE_LOCAL_ACCOUNT: 'true', SERVICE_CONSOLE_PORT: `${port}` };
    const run = runMain(['standalone'], { ...own, ...variables });
    await run.says(/Ctrl-C/);
    const [, link = '', origin = ''] =
      /Console {2}((https?:\/\/[^/]+)\/#\/set-up\/\S+)/.exec(run.stdout()) ?? [];
    const browser = new Browser(`http://127.0.0.1:${port}`, { origin, from: '127.0.0.1' });
    await browser.expect(201, 'POST', '/setup', { ...OWNER, token: tokenIn(link) });
    const { data } = await browser.expect(200, 'GET', '/me');
    const { api_url, api_docs_url } = data;
    assert.match(JSON.stringify({ api_url, api_docs_url }), shown);
    run.child.kill('SIGTERM');
    assert.is(await run.ended, 0, run.stderr());
  });
}

beside('is absent if disabled', async () => {
  const run = runMain(['standalone'], { SERVICE_CONSOLE_ENABLED: 'false' });
  await run.says(/Ctrl-C/);
  run.child.kill('SIGTERM');
  await run.ended;
  assert.not.match(run.stdout(), /Console/);
});

const wrong = suite('an unsafe console');

for (const [what, part, variables, text] of [
  [
    'on a network address without a public origin',
    'standalone',
    { SERVICE_CONSOLE_HOST: '0.0.0.0' },
    /CONSOLE_ORIGIN/,
  ],
  [
    'with in-memory storage',
    'console',
    { SERVICE_CLUSTER_SECRET: 'the secret of all tests' },
    /SERVICE_STORAGE/,
  ],
  ['without the cluster secret', 'console', {}, /SERVICE_CLUSTER_SECRET/],
  [
    'without NATS',
    'console',
    { SERVICE_CLUSTER_SECRET: 'the secret of all tests', SERVICE_STORAGE: 'cassandra' },
    /SERVICE_NATS_URL/,
  ],
  [
    'with an invalid origin',
    'console',
    { SERVICE_CONSOLE_ORIGIN: 'https://a.example/' },
    /CONSOLE_ORIGIN/,
  ],
] as const) {
  wrong(`${what} does not start, and reports the reason in one line`, async () => {
    const run = runMain([part], variables);
    assert.is(await run.ended, 1);
    assert.match(run.stderr(), text);
    assert.is(run.stderr().trim().split('\n').length, 1, run.stderr());
  });
}

const lasting = cassandra.suite('a separate console process on Cassandra');

lasting('has durable users, sessions and second factors', async () => {
  await using keyspace = await openMigratedKeyspace(cassandra.address);
  const accounts = cassandraAccountStore(keyspace.session, systemClock);
  const limits = { requestsPerMinute: 10, cyclesPerMonth: 10_000, instances: 1_000 };
  const account = { id: 'accountOfAda', name: 'Ada & Co', plan: 'free', limits } as const;
  await accounts.create({ ...account, status: 'active', createdAtMs: 1 });
  const start = async () => {
    const run = runMain(['console'], {
      SERVICE_STORAGE: 'cassandra',
      SERVICE_CASSANDRA_CONTACT_POINTS: cassandra.address,
      SERVICE_CASSANDRA_KEYSPACE: keyspace.name,
      SERVICE_CLUSTER_SECRET: 'the secret of all tests',
      SERVICE_NATS_URL: nats.address,
      SERVICE_NATS_PREFIX: keyspace.name,
    });
    await run.says(/"?console"?\W+http/);
    const [origin = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(run.stdout()) ?? [];
    return { run, origin, browser: new Browser(origin, { origin, from: '127.0.0.1' }) };
  };
  const first = await start();
  const members = cassandraMemberStore(keyspace.session);
  const ports = { members, clock: systemClock, randomness: systemRandomness };
  const token = tokenIn(await makeSetUpLink(ports, account.id, first.origin));
  await first.browser.expect(201, 'POST', '/setup', { ...OWNER, token });
  await first.browser.expect(200, 'POST', '/second-factor', { password: PASSWORD });
  first.run.child.kill('SIGTERM');
  assert.is(await first.run.ended, 0, first.run.stderr());
  const second = await start();
  for (const [name, value] of first.browser.cookies) second.browser.cookies.set(name, value);
  const { data } = await second.browser.expect(200, 'GET', '/me');
  assert.equal(data['account'], { id: account.id, name: 'Ada & Co' });
  assert.is(
    await makeSetUpLink(ports, account.id, second.origin),
    undefined,
    'the account has an owner',
  );
  const wrongCode = await second.browser.send('POST', '/second-factor/confirm', { code: '000000' });
  assert.is(wrongCode.reason, 'wrong_code');
  await second.browser.expect(204, 'POST', '/sign-out', {});
  assert.is((await second.browser.send('GET', '/me')).status, 401);
  second.run.child.kill('SIGTERM');
  assert.is(await second.run.ended, 0, second.run.stderr());
});

for (const each of [beside, wrong, lasting]) each.run();
