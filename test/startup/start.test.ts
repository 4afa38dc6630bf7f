import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ProcessRun, runMain } from '#test/support/process-run';

/** Asserts that a run ended with one line on standard error. Returns the line. */
async function complaintOf(run: ProcessRun, code = 1): Promise<string> {
  assert.is(await run.ended, code, run.stderr());
  assert.is(run.stdout(), '');
  const lines = run.stderr().trimEnd().split('\n');
  assert.is(lines.length, 1, run.stderr());
  return lines[0] ?? '';
}

/** Occupies a port until disposed. */
async function takenPort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: async () => void server.close() };
}

const taken = suite('when a port is in use');

for (const [part, variableOf] of [
  ['standalone', (port: number) => ({ SERVICE_PORT: `${port}` })],
  ['standalone', (port: number) => ({ SERVICE_METRICS_PORT: `${port}` })],
  ['standalone', (port: number) => ({ SERVICE_ADMIN_PORT: `${port}` })],
  ['standalone', (port: number) => ({ SERVICE_CONSOLE_PORT: `${port}` })],
  ['engine', (port: number) => ({ SERVICE_ENGINE_LISTEN: `127.0.0.1:${port}` })],
  ['limiter', (port: number) => ({ SERVICE_LIMITER_LISTEN: `127.0.0.1:${port}` })],
] as const) {
  // Report 37: a taken port was answered with a list of variables, not with the one that names it.
  taken(`${part} exits with one line that names ${Object.keys(variableOf(0))}`, async () => {
    await using other = await takenPort();
    const run = runMain([part], { ...variableOf(other.port), SERVICE_LOCAL_ACCOUNT: 'false' });
    const line = await complaintOf(run);
    assert.match(line, new RegExp(`\\b${other.port}\\b`));
    assert.match(
      line,
      new RegExp(`^${Object.keys(variableOf(0))}: port ${other.port} on .* is in use`),
    );
  });
}

const variable = suite('when a variable is wrong');

for (const [name, value, why] of [
  ['SERVICE_PORT', 'abc', 'not a number'],
  ['SERVICE_PORT', '70000', 'not a port'],
  ['SERVICE_PORT', '-1', 'not a port'],
  ['SERVICE_PORT', '80.5', 'not a whole number'],
  ['SERVICE_PORT', '', 'empty'],
  ['SERVICE_PROT', '8000', 'misspelt name'],
  ['SERVICE_DOCS_ENABLED', 'yes', 'neither true nor false'],
  ['SERVICE_STORAGE', 'disk', 'not a store'],
  ['SERVICE_ENGINE_ADDRESS', 'somewhere', 'no port'],
  ['SERVICE_NATS_URL', 'http://127.0.0.1:4222', 'not a NATS URL'],
  ['SERVICE_NATS_URL', '127.0.0.1:4222', 'no URL'],
  ['SERVICE_NATS_URL', 'nats://127.0.0.1:4222,', 'an empty second URL'],
  ['SERVICE_NATS_URL', 'nats://me:hush@127.0.0.1:4222', 'with a user'],
  ['SERVICE_NATS_URL', 'nats://:hush@127.0.0.1:4222', 'with a password'],
  ['SERVICE_NATS_URL', 'nats://me:hush#it@127.0.0.1', 'an invalid URL'],
  ['SERVICE_CASSANDRA_TLS_NAME', '10.0.0.1', 'an address'],
  ['SERVICE_CLUSTER_SECRET', 'short', 'too short'],
  ['SERVICE_ACTOR_IDLE_S', '29', 'too small'],
  ['SERVICE_TRUSTED_PROXIES', 'everybody', 'not a network'],
] as const) {
  variable(`${name}=${value} (${why}) is rejected with one line that names ${name}`, async () => {
    const line = await complaintOf(runMain(['standalone'], { [name]: value }));
    assert.not.match(line, /hush/);
    assert.match(line, new RegExp(`^configuration: ${name}: .`));
  });
}

// Report 37: a misspelt variable was refused without the name that was meant.
variable('a misspelt name is rejected with a similar valid name', async () => {
  const unlike = await complaintOf(runMain(['standalone'], { SERVICE_WHATEVER_ELSE: '1' }));
  assert.is(unlike, 'configuration: SERVICE_WHATEVER_ELSE: no such variable');
  const like = await complaintOf(runMain(['ctl', 'nodes'], { SERVICE_PROT: '8000' }));
  assert.match(like, /^configuration: SERVICE_PROT: .* \(did you mean SERVICE_PORT\?\)$/);
});

variable('an address of another machine is rejected with one line', async () => {
  const line = await complaintOf(runMain(['standalone'], { SERVICE_HOST: '192.0.2.1' }));
  assert.match(line, /^SERVICE_HOST: 192\.0\.2\.1 is not an address of this machine/);
});

for (const host of ['192.0.2.1', 'nowhere.invalid']) {
  // Report 24: a wrong host of the console was refused without its variable, and a name without the name.
  variable(`SERVICE_CONSOLE_HOST=${host} is rejected with one line that names both`, async () => {
    const origin = { SERVICE_CONSOLE_ORIGIN: 'https://console.example.com' };
    const run = runMain(['standalone'], { SERVICE_CONSOLE_HOST: host, ...origin });
    const line = await complaintOf(run);
    assert.match(line, `SERVICE_CONSOLE_HOST: ${host} is not an address of this machine`);
  });
}

for (const [name, value, storage] of [
  ['SERVICE_SQLITE_FILE', '/tmp/nowhere.db', 'sqlite'],
  ['SERVICE_CASSANDRA_CONTACT_POINTS', '127.0.0.1:9042', 'cassandra'],
] as const) {
  // Report 30: a named file without SERVICE_STORAGE=sqlite silently meant memory.
  variable(`${name} without SERVICE_STORAGE is rejected with one line`, async () => {
    const line = await complaintOf(runMain(['standalone'], { [name]: value }));
    assert.match(line, `configuration: ${name}: needs SERVICE_STORAGE=${storage}`);
  });
}

const part = suite('without a role,');

for (const argv of [[], ['sandalone'], ['standalone', '--port=1'], ['toString'], ['--help']]) {
  part(`"main.ts ${argv.join(' ')}" prints the usage and exits with 2`, async () => {
    const run = runMain(argv);
    assert.is(await run.ended, 2);
    assert.match(
      run.stderr(),
      /^usage: main\.ts standalone\|edge\|engine\|limiter\|courier\|console\n/,
    );
    assert.not.match(run.stderr(), /\n {4}at /);
  });
}

// Report 36: There was no --version and no "ctl version".
part(
  '"main.ts --version" and "ctl version" print the release, even with a wrong configuration',
  async () => {
    const wrong = { SERVICE_PORTS: '1' };
    const version = runMain(['--version'], wrong);
    assert.is(await version.ended, 0, version.stderr());
    assert.match(version.stdout(), /^\d+\.\d+\.\d+\n$/);
    const ctl = runMain(['ctl', 'version', '--json']);
    assert.is(await ctl.ended, 0, ctl.stderr());
    assert.is(JSON.parse(ctl.stdout()).release, version.stdout().trim());
  },
);

const SECRET = { SERVICE_CLUSTER_SECRET: 'the secret of this test' };

const waiting = suite('when an edge finds no engine');

/** An address without a listener, because its server has just closed. */
async function silentAddress(): Promise<string> {
  await using gone = await takenPort();
  return `127.0.0.1:${gone.port}`;
}

const waitsOf = (run: ProcessRun) => run.log().filter(({ msg }) => msg.startsWith('waiting'));

waiting('the edge logs the missing processes', async () => {
  const [engine, limiter] = [await silentAddress(), await silentAddress()];
  const addresses = {
    ...SECRET,
    SERVICE_ENGINE_ADDRESS: engine,
    SERVICE_LIMITER_ADDRESS: limiter,
  };
  const run = runMain(['edge'], addresses);
  await run.says(/\n/);
  assert.is(waitsOf(run)[0]?.['missing'], `the engine at ${engine} and the limiter at ${limiter}`);
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0);
  assert.is(run.stdout(), '');
});

waiting('the edge logs only the engine, and starts once the engine is available', async () => {
  const limiter = runMain(['limiter']);
  await limiter.says(/ready/);
  const limiterAddress = /grpc ([^,\s]+)/.exec(limiter.stdout())?.[1] ?? '';
  const engineAddress = await silentAddress();
  const edge = runMain(['edge'], {
    ...SECRET,
    SERVICE_ENGINE_ADDRESS: engineAddress,
    SERVICE_LIMITER_ADDRESS: limiterAddress,
  });
  await edge.says(/waiting/);
  assert.is(waitsOf(edge)[0]?.['missing'], `the engine at ${engineAddress}`);
  const engine = runMain(['engine'], { SERVICE_ENGINE_LISTEN: engineAddress });
  await edge.says(/edge is ready/);
  for (const run of [edge, engine, limiter]) {
    run.child.kill('SIGTERM');
    assert.is(await run.ended, 0, run.stderr());
  }
});

variable('an edge without the cluster secret is rejected with one line', async () => {
  const run = runMain(['edge']);
  assert.is(await run.ended, 1);
  assert.match(run.stderr(), /^configuration: SERVICE_CLUSTER_SECRET: .+\n$/);
});

for (const group of [taken, variable, part, waiting]) group.run();
