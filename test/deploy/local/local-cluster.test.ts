import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { parseApiKey } from '#accounts/api-key';
import { clusterPlan, PORTS_PER_CLUSTER, processFolder } from '#deploy/local/cluster-plan';
import { installedK6 } from '#deploy/local/install/k6';
import { openLocalCluster } from '#deploy/local/local-cluster';
import { newAccount } from '#deploy/local/new-account';
import { processStatuses } from '#deploy/local/processes/process-status';
import { freeBlock } from '#deploy/local/servers/free-port';
import { runningServer, signalProcess } from '#deploy/local/servers/server-record';
import { Browser } from '#test/console/browser';
import { PASSWORD, tokenIn } from '#test/console/console-fixture';
import { runToEnd } from '#test/runner/program';
import { cassandraOrSkip } from '#test/support/servers/real-servers';
import { refusalOf } from '#test/support/settled';

/*
 * Tests the whole cluster as `make` starts it, with its own Cassandra and NATS. A start is
 * expensive, so all tests share a cluster, in order: first through `make`'s program, then through
 * the library.
 */

const { suite } = cassandraOrSkip();

/** Maximum recovery time of the cluster on a busy machine, in ms. */
const PATIENCE_MS = 60_000;
const POLL_EVERY_MS = 100;

// Cassandra runs for seconds here: prefer a fast start over optimized code.
process.env['JAVA_TOOL_OPTIONS'] = '-XX:TieredStopAtLevel=1';

const folder = mkdtempSync(join(tmpdir(), 'identity-engine-cluster-'));
const ports = await freeBlock(PORTS_PER_CLUSTER, 21_000, 22_000);
const plan = clusterPlan({ folder, ports });

/** Runs the program of `make cluster…`. */
async function cluster(...args: readonly string[]) {
  const env = { ...process.env, CLUSTER_FOLDER: folder, CLUSTER_PORT: `${ports}` };
  const child = spawn(process.execPath, ['deploy/local/cluster.ts', ...args], { env });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => (out += chunk));
  child.stderr.on('data', (chunk) => (err += chunk));
  const [code] = await once(child, 'close');
  return { code, out, err };
}

/** Calls the balanced address on a new connection, for which the balancer selects an edge. */
async function call(key: string, method: string, path: string, json?: object) {
  const response = await fetch(`${plan.address}/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      connection: 'close',
    },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

/** First answer other than 503, which a busy machine may give. */
async function served(path: string) {
  const deadlineMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await call(key, 'GET', path);
    if (answer.status !== 503) return answer;
    assert.ok(performance.now() < deadlineMs, JSON.stringify(answer.body));
    await sleep(POLL_EVERY_MS);
  }
}

async function assertServed(): Promise<void> {
  assert.is((await served(`/instances/${ada}`)).status, 200);
}

async function statuses() {
  const { out } = await cluster('status', '--json');
  return JSON.parse(out) as { name: string; pid: number; is_ready: boolean }[];
}

const recordOf = (name: string) => runningServer(processFolder(folder, name));

/** Records of the folder's running processes. */
function running(): string[] {
  const files = globSync('**/server.json', { cwd: folder });
  return files.filter((file) => runningServer(join(folder, dirname(file))) !== undefined);
}

/** Kills leftovers of a failed test: the supervisor first, because it restarts other processes. */
process.once('exit', () => {
  for (const file of ['supervisor/server.json', ...running()]) {
    const record = runningServer(join(folder, dirname(file)));
    if (record !== undefined) signalProcess(record, 'SIGKILL');
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

const ADA = { name: 'Ada' };
const OBSERVATION = { mode_target: 'ORDER', signal_strength: 0.5 };

let key = '';
let setUpLink = '';
let ada = '';

const started = suite('a cluster started with make');

started('must be started before the first use of ctl, as one line explains', async () => {
  const { code, err } = await cluster('ctl', 'nodes');
  assert.is(code, 1);
  assert.is(err, `cluster: ${folder} has no cluster yet: run make cluster\n`);
});

started('does not start if a port is taken, and names the port in one line', async () => {
  const { port = 0 } = plan.processes.find(({ name }) => name === 'engine2') ?? {};
  const other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
  const { code, out, err } = await cluster('up');
  other.close();
  assert.is(code, 1);
  assert.is(out, '');
  assert.match(err, new RegExp(`^cluster: engine2: port ${port} of 127.0.0.1 is taken; .+\n$`));
  assert.equal(running(), []);
});

started('does not start if an external server does not answer', async () => {
  const nats = 'nats://127.0.0.1:1';
  const { message } = await refusalOf(() => openLocalCluster({ folder, ports, nats }));
  assert.is(message, `NATS does not answer at ${nats}`);
});

started('answers at its address with the printed key', async () => {
  const { code, out, err } = await cluster('up');
  assert.is(code, 0, err);
  assert.match(out, `${plan.address}/v1`);
  key = /API key +(\S+)/.exec(out)?.[1] ?? '';
  setUpLink = /Console +(\S+)/.exec(out)?.[1] ?? '';
  const created = await call(key, 'POST', '/instances', ADA);
  assert.is(created.status, 201, JSON.stringify(created.body));
  ada = created.body.data.id;
  const processed = await call(key, 'POST', `/instances/${ada}/process`, OBSERVATION);
  assert.is(processed.status, 200, JSON.stringify(processed.body));
});

started(
  'has consoles at a second address, and prints a set-up link for the first owner',
  async () => {
    const origin = plan.consoleAddress;
    const token = tokenIn(setUpLink);
    assert.ok(setUpLink.startsWith(`${origin}/#/set-up/`), setUpLink);
    const page = await fetch(`${origin}/`);
    assert.is(page.headers.get('content-type')?.startsWith('text/html'), true, await page.text());
    const owner = new Browser(origin, { origin, from: '127.0.0.1' });
    const ada = { email: 'ada@example.com', password: PASSWORD, name: 'Ada' };
    await owner.expect(201, 'POST', '/setup', { ...ada, token });
    await owner.expect(200, 'GET', '/usage');
    // Each request uses a new connection: consoles take turns and share sessions.
    for (let turns = 0; turns < 4; turns += 1) await owner.expect(200, 'GET', '/me');
    const { out } = await cluster('ctl', 'users', 'list', parseApiKey(key)?.accountId ?? '');
    assert.match(out, / ada@example\.com +Ada +owner +member /);
  },
);

started('is unchanged by a second start', async () => {
  const before = await statuses();
  const { code, out } = await cluster('up');
  assert.is(code, 0);
  assert.match(out, key);
  assert.match(out, new RegExp(`^  Console  ${plan.consoleAddress}$`, 'm'));
  assert.equal(await statuses(), before);
  assert.ok(before.every(({ is_ready }) => is_ready));
});

started('restarts an engine two seconds after a kill, and answers calls meanwhile', async () => {
  const before = recordOf('engine2');
  assert.ok(before);
  signalProcess(before, 'SIGKILL');
  const killedMs = Date.now();
  await assertServed();
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!(await processStatuses(plan, () => 0)).every(({ isReady }) => isReady)) {
    assert.ok(performance.now() < deadlineMs, 'a process did not become ready again');
    await sleep(POLL_EVERY_MS);
  }
  const after = recordOf('engine2');
  assert.ok(after && after.pid !== before.pid);
  const awayMs = Date.parse(after.startedAt) - killedMs;
  assert.ok(awayMs > 1_900 && awayMs < 20_000, `${awayMs} ms`);
});

started('lists all its processes in its status', async () => {
  const { code, out } = await cluster('status');
  assert.is(code, 0, out);
  const lines = out.trimEnd().split('\n');
  assert.match(lines[0] ?? '', /^PROCESS +PID +UP SINCE +RESTARTS +ADDRESS +READY$/);
  for (const { name } of plan.processes) {
    const restarts = name === 'engine2' ? 1 : 0;
    const row = new RegExp(
      `^${name} +\\d+ +[-\\dT:]+Z +${restarts} +\\S*127\\.0\\.0\\.1:\\d+ +yes$`,
      'm',
    );
    assert.match(out, row);
  }
  assert.is(lines.length, plan.processes.length + 2);
});

started('stores and charges all answers in a load test that kills an engine', async () => {
  const hasK6 = await installedK6(console.log).catch((error: Error) => {
    if (process.env['CI'] === 'true') throw error;
    console.log(`skipped because ${error.message}`);
  });
  if (hasK6 === undefined) return;
  const { code, text } = await runToEnd(process.execPath, ['loadtest/main.ts'], {
    ...{ CLUSTER_FOLDER: folder, RESULTS: join(folder, 'load') },
    ...{ PROFILE: 'failover', RATE: '4', DURATION: '16' },
  });
  // Exit code 1: on a busy machine, the latency objective may fail.
  assert.ok(code === 0 || code === 1, text);
  assert.match(text, /^- Killed: engine1 \(process \d+\), at the start of takeover$/m);
  for (const where of ['stored', 'charged']) {
    const count = `cycles answered = cycles ${where}`;
    assert.match(text, new RegExp(`\\| ${count} \\| \\d+[^|]* \\| [1-9]\\d* \\| kept \\|`));
  }
  const { out } = await cluster('ctl', 'accounts', 'list');
  assert.is(out.match(/ load-\d .* suspended /g)?.length, 4, out);
});

started('ends all its processes after `make cluster-down`', async () => {
  const { code, out } = await cluster('down');
  assert.is(code, 0);
  assert.match(out, `${folder}`);
  assert.equal(running(), []);
  assert.is((await cluster('status')).code, 1);
  assert.match((await cluster('down')).out, /no cluster runs/);
});

started.run();

const opened = suite('a cluster opened by a program in an existing folder');

opened('has the earlier data and key, and loses no data when nodes join and leave', async () => {
  await using local = await openLocalCluster({ folder, ports });
  assert.is(local.key, key);
  const page = await served(`/instances/${ada}/history?limit=10`);
  assert.is(page.body.pagination?.total, 1, JSON.stringify(page.body));

  assert.is(await local.add('engine'), 'engine4');
  await local.stop('engine1');
  await local.served();
  await assertServed();
  await local.remove('engine4');
  await local.start('engine1');
  await local.served();
  await assertServed();

  assert.is(await local.add('limiter'), 'limiter3');
  await local.remove('limiter1');
  await local.remove('limiter2');
  await local.served();
  // Edges and ctl started without the address of this limiter.
  await assertServed();
  await newAccount(local.plan.adminUrl, 'Grace', { requests_per_minute: 1, cycles_per_month: 1 });
  const { message } = await refusalOf(() => local.remove('limiter3'));
  assert.is(message, 'limiter3 cannot leave: it is the last limiter');
  const limiters = local.names.filter((name) => name.startsWith('limiter'));
  assert.equal(limiters, ['limiter3']);

  local.signal('engine3', 'SIGSTOP');
  const find = async () => (await local.statuses()).find(({ name }) => name === 'engine3');
  assert.is((await find())?.isReady, false);
  local.signal('engine3', 'SIGCONT');
  const deadlineMs = performance.now() + PATIENCE_MS;
  while ((await find())?.isReady !== true)
    assert.ok(performance.now() < deadlineMs, 'engine3 did not become ready again');
});

opened('ends all its processes when disposed', () => assert.equal(running(), []));

opened.run();
