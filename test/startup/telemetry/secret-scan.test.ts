import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { Secret } from 'otpauth';
import * as assert from 'uvu/assert';
import { Browser } from '#test/console/browser';
import { PASSWORD, tokenIn } from '#test/console/console-fixture';
import { codeOf } from '#test/console/totp-code';
import { dumpOf } from '#test/storage/cassandra/keyspace-scan';
import { openMigratedKeyspace } from '#test/storage/cassandra/migrated-keyspace';
import { ADMIN_TOKEN } from '#test/support/calls/admin-token';
import { bought, LOCAL_BILLING } from '#test/support/calls/billing-scene';
import { type ProcessRun, runMain } from '#test/support/process-run';
import { formsOf } from '#test/support/secret-forms';
import { cassandraOrSkip } from '#test/support/servers/real-servers';

const { address, suite } = cassandraOrSkip();

const CLUSTER_SECRET = 'the secret of the cluster of this scan';

/** Maximum lifetime of the process, in milliseconds. */
const RUN_MS_MAX = 180_000;

/** All secrets of the test, with descriptions. */
class Secrets {
  readonly all = new Map<string, string | Buffer>();

  note(what: string, value: string | Buffer | undefined): string {
    assert.ok(value !== undefined && value.length > 0, what);
    this.all.set(what, value);
    return value.toString();
  }

  /** Adds a value with a public prefix. Only the rest of the value is secret. */
  noteEnd(what: string, value: string): string {
    this.note(what, value.split('.').at(-1));
    return value;
  }

  cookies(what: string, browser: Browser): void {
    for (const [name, value] of browser.cookies) this.noteEnd(`${what}: cookie ${name}`, value);
  }
}

/** A collector that keeps all received bytes. */
async function collector() {
  const bodies: Buffer[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    bodies.push(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body);
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    traces: () => Buffer.concat(bodies),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Sets up an owner and a member at the console, and notes the secrets of each step. */
async function actAtConsole(secrets: Secrets, origin: string, setUp: string) {
  const owner = new Browser(origin, { origin, from: '127.0.0.1' });
  secrets.note('the owner’s password', PASSWORD);
  const entering = { token: setUp, email: 'ada@example.com', name: 'Ada', password: PASSWORD };
  await owner.expect(201, 'POST', '/setup', entering);
  secrets.cookies('after the set-up', owner);

  const { data } = await owner.expect(200, 'POST', '/second-factor', { password: PASSWORD });
  const shared = secrets.note('the shared secret', String(data['secret']));
  secrets.note('the bytes of the shared secret', Buffer.from(Secret.fromBase32(shared).bytes));
  const code = codeOf(shared, Date.now());
  const confirmed = await owner.expect(200, 'POST', '/second-factor/confirm', { code });
  const codes = confirmed.data['recovery_codes'] as string[];
  for (const [index, each] of codes.entries()) secrets.note(`recovery code ${index}`, each);
  secrets.cookies('with a second factor', owner);

  await owner.expect(204, 'POST', '/sign-out', {});
  await owner.send('POST', '/sign-in', {
    email: 'ada@example.com',
    password: secrets.note('a wrong password', 'a wrong password of the owner'),
  });
  // Another email, because the console now throttles sign-ins with the owner's email.
  await owner.send('POST', '/sign-in', `{"email":"x@example.com","password":"${PASSWORD}"`);
  let state = '';
  for (let attempts = 0; state === '' && attempts < 20; attempts += 1) {
    const answer = await owner.signIn('ada@example.com', PASSWORD);
    state = String(answer.data['state'] ?? '');
    if (state === '') await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  assert.is(state, 'second_factor');
  secrets.cookies('between password and code', owner);
  await owner.expect(200, 'POST', '/sign-in/second-factor', { code: codes[0] });
  secrets.cookies('after the sign-in', owner);

  const invite = { email: 'grace@example.com', role: 'developer' };
  const { data: invited } = await owner.expect(201, 'POST', '/members/invitations', invite);
  const token = secrets.noteEnd('the invitation', tokenIn(invited['link']));
  const member = new Browser(origin, { origin, from: '127.0.0.2' });
  const password = secrets.note('the member’s password', 'what the member has chosen');
  await member.expect(201, 'POST', '/invitations/accept', { token, name: 'Grace', password });
  secrets.cookies('of the member', member);
  return { owner, member };
}

/** Creates, rotates and uses keys, correctly and incorrectly. */
async function actWithKeys(secrets: Secrets, owner: Browser, api: string): Promise<string> {
  const noteKey = (what: string, key: string) => {
    // The account id at the start of a key is not secret.
    secrets.note(what, key.slice('svc_sk_'.length + 12));
    return key;
  };
  const made = await owner.expect(201, 'POST', '/keys', { name: 'worker', scope: 'full' });
  const first = noteKey('the first key', String(made.data['key']));
  const path = `/keys/${made.data['id']}/rotate`;
  const rotated = await owner.expect(201, 'POST', path, { grace_seconds: 3_600 });
  const second = noteKey('the key after it', String(rotated.data['key']));
  const call = async (key: string, method: string, at: string, body?: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const answer = await fetch(`${api}${at}`, {
      ...{ method, headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    return {
      status: answer.status,
      id: ((await answer.json()) as { data?: { id?: string } }).data?.id,
    };
  };
  const created = await call(first, 'POST', '/instances', { name: 'Ada' });
  assert.is(created.status, 201);
  const observed = { mode_target: 'ORDER', signal_strength: 0.4, confidence: 1 };
  await call(second, 'POST', `/instances/${created.id}/process`, observed);
  const unknown = `${second.slice(0, -1)}${second.endsWith('0') ? '1' : '0'}`;
  noteKey('an unknown key', unknown);
  assert.is((await call(unknown, 'GET', '/instances')).status, 401);
  // Misplaced credentials: a key in a URL, in a body and at the console; cookies at the API.
  await call(second, 'GET', `/instances?key=${second}`);
  await call(second, 'POST', '/instances', { name: 'Ada', api_key: second });
  await owner.send('GET', '/me', undefined, { authorization: `Bearer ${second}` });
  const cookie = [...owner.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  await (await fetch(`${api}/account`, { headers: { cookie } })).text();
  return second;
}

async function notify(secrets: Secrets, api: string, admin: string): Promise<void> {
  // Replace the enterprise plan by a plan that can be bought.
  const plan = await fetch(`${admin}/accounts/localAccount/plan`, {
    ...{ method: 'PUT', body: JSON.stringify({ plan: 'free' }) },
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
  });
  assert.is(plan.status, 200, await plan.text());
  secrets.note('the webhook’s secret', LOCAL_BILLING.SERVICE_BILLING_WEBHOOK_SECRET);
  const { body, signature } = bought('localAccount');
  const send = (signed: string) =>
    fetch(`${api}/billing/notifications`, {
      ...{ method: 'POST', body: Buffer.from(body) },
      headers: { 'stripe-signature': signed, 'content-type': 'application/json' },
    });
  for (const [signed, status] of [
    [signature, 200],
    ['t=1,v1=00', 400],
  ] as const) {
    const answer = await send(signed);
    assert.is(answer.status, status, await answer.text());
  }
}

/** Returns the metrics and the audit trail. Asserts that the trail has all kinds of actions. */
async function writtenBy(run: ProcessRun, owner: Browser, key: string, api: string) {
  const [, metricsAt = ''] = /Metrics {2}(\S+)/.exec(run.stdout()) ?? [];
  const metrics = await (await fetch(metricsAt)).text();
  const page = await owner.expect(200, 'GET', '/audit');
  const exported = await owner.send('GET', '/audit/export');
  const headers = { authorization: `Bearer ${key}` };
  const asked = await (await fetch(`${api}/audit`, { headers })).text();
  const audit = JSON.stringify([page.data, exported.data, asked]);
  for (const action of ['account.set_up', 'key.rotate', 'session.', 'member.', 'plan.change']) {
    assert.ok(audit.includes(action), `no ${action} in the audit trail`);
  }
  return new Map([
    ['the metrics', Buffer.from(metrics)],
    ['the audit trail', Buffer.from(audit)],
  ]);
}

/** Starts a service with all features. Disposal kills the service. */
async function startService(keyspace: string, collecting: string) {
  const run = runMain(
    ['standalone'],
    {
      ...{ SERVICE_STORAGE: 'cassandra', SERVICE_CASSANDRA_CONTACT_POINTS: address },
      ...{ SERVICE_CASSANDRA_KEYSPACE: keyspace, SERVICE_SHARDS: '8' },
      ...{ SERVICE_LOCAL_ACCOUNT: 'true', SERVICE_CLUSTER_SECRET: CLUSTER_SECRET },
      ...{ SERVICE_LOG_LEVEL: 'debug', SERVICE_TRUSTED_PROXIES: '127.0.0.1' },
      ...{ SERVICE_OTLP_ENDPOINT: collecting, SERVICE_TRACE_RATIO: '1', ...LOCAL_BILLING },
    },
    RUN_MS_MAX,
  );
  await run.says(/Ctrl-C/);
  const read = (pattern: RegExp) => {
    const found = pattern.exec(run.stdout())?.[1];
    assert.ok(found, `${pattern}: ${run.stdout()}`);
    return found;
  };
  return {
    run,
    origin: read(/Console {2}(http:\/\/[^/]+)\//),
    link: read(/Console {2}http\S+\/#\/set-up\/(\S+)/),
    admin: read(/Admin {4}(http:\S+)/),
    api: read(/API {6}(http:\S+\/v1)/),
    key: read(/svc_sk_\w{12}(\w+)/),
    [Symbol.dispose]: () => void run.child.kill('SIGKILL'),
  };
}

const scan = suite('a scan of all output of a service');

scan('finds no key, password, session, code, link or secret in any form', async () => {
  await using keyspace = await openMigratedKeyspace(address);
  await using collecting = await collector();
  using service = await startService(keyspace.name, collecting.url);
  const { run, origin, api } = service;
  const secrets = new Secrets();
  secrets.note('the cluster’s secret', CLUSTER_SECRET);
  secrets.note('the admin token', ADMIN_TOKEN);
  secrets.note('the printed key', service.key);
  const setUp = secrets.noteEnd('the set-up link', service.link);
  const { owner } = await actAtConsole(secrets, origin, setUp);
  const key = await actWithKeys(secrets, owner, api);
  await notify(secrets, api, service.admin);
  const written = new Map<string, Buffer>(await writtenBy(run, owner, key, api));
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0, run.stderr());
  written.set('the log', Buffer.from(run.stderr()));
  written.set('the traces', collecting.traces());
  for (const [table, rows] of await dumpOf(keyspace.session, keyspace.name)) {
    written.set(`table ${table}`, rows);
  }
  assertLookedAt(written, secrets);
  assert.equal(findsIn(written, secrets), []);
});

/** Asserts that the scan covered real output. */
function assertLookedAt(written: ReadonlyMap<string, Buffer>, { all }: Secrets): void {
  for (const where of ['the metrics', 'the audit trail', 'the log', 'the traces']) {
    const bytes = written.get(where)?.length ?? 0;
    assert.ok(bytes > 1_000, `${where}: ${bytes} bytes`);
  }
  for (const table of [
    'accounts',
    'users',
    'console_sessions',
    'account_people',
    'audit',
    'journal',
  ]) {
    assert.ok(written.has(`table ${table}`), `${table}: ${[...written.keys()].join()}`);
  }
  assert.ok(all.size > 25, `${all.size}`);
}

/** Descriptions of the secrets that any output has in any encoding. */
function findsIn(written: ReadonlyMap<string, Buffer>, { all }: Secrets): string[] {
  const finds = new Set<string>();
  for (const [what, value] of all) {
    for (const form of formsOf(value)) {
      for (const [where, bytes] of written)
        if (bytes.includes(form)) finds.add(`${what} in ${where}`);
    }
  }
  return [...finds];
}

scan.run();
