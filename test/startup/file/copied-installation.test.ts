import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import {
  type MigratedKeyspace,
  openMigratedKeyspace,
} from '#test/storage/cassandra/migrated-keyspace';
import { type Caller, callerOf, newCaller } from '#test/support/calls/caller';
import { createInstance, observationAt, process } from '#test/support/calls/scene';
import { runMain } from '#test/support/process-run';
import { cassandraOrSkip } from '#test/support/servers/real-servers';
import { type Service, startStandalone } from '#test/support/servers/service';

const { address, suite } = cassandraOrSkip();

/** Number of `ctl copy` processes that the test kills before a copy may finish. */
const KILLS = 8;

/** Maximum time until a copy is killed, in milliseconds. A copy takes about as long. */
const KILLED_MS_MAX = 4_000;

const SHARDS = { SERVICE_SHARDS: '8', SERVICE_LIMITER_TIMEOUT_MS: '5000' };

/** A call with an idempotency key, which the test repeats in each installation. */
const KEYED = { headers: { 'Idempotency-Key': 'the same for ever' }, json: observationAt(900) };

const moved = suite('an installation copied from a file to a cluster and back');

const started: Service[] = [];
let keyspace: MigratedKeyspace;
let folder = '';
let file = '';
let key = '';
let accountId = '';
/** Answers of the last installation, which the next installation must give too. */
let answers: readonly string[] = [];

moved.before(async () => {
  keyspace = await openMigratedKeyspace(address);
  folder = mkdtempSync(join(tmpdir(), 'copied-'));
  file = join(folder, 'first.db');
});
moved.after(async () => {
  for (const { processes } of started) processes.get('standalone')?.kill('SIGKILL');
  await keyspace[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const onFile = (path: string) => ({
  ...SHARDS,
  SERVICE_STORAGE: 'sqlite',
  SERVICE_SQLITE_FILE: path,
});
const onCassandra = () => ({
  ...SHARDS,
  SERVICE_STORAGE: 'cassandra',
  SERVICE_CASSANDRA_CONTACT_POINTS: address,
  SERVICE_CASSANDRA_KEYSPACE: keyspace.name,
  SERVICE_CLUSTER_SECRET_FILE: join(folder, 'secret'),
});

/** Starts a service, which stops at the end of the suite. */
async function startOn(variables: Record<string, string>): Promise<Service> {
  const service = await startStandalone(variables);
  started.push(service);
  return service;
}

/** Stops a service cleanly or kills the service. */
async function end(service: Service, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const child = service.processes.get('standalone');
  const ended = new Promise((resolve) => child?.once('exit', resolve));
  child?.kill(signal);
  await ended;
}

/** Runs `ctl copy`, and kills it after `killedAfterMs`. */
async function copy(argv: readonly string[], killedAfterMs?: number) {
  const { SERVICE_CLUSTER_SECRET_FILE: secret, ...variables } = onCassandra();
  const isBack = argv.includes('cassandra') && argv[1] === 'cassandra';
  const run = runMain(
    ['ctl', 'copy', ...argv],
    isBack ? { ...variables, SERVICE_CLUSTER_SECRET_FILE: secret } : variables,
  );
  if (killedAfterMs !== undefined) {
    await sleep(killedAfterMs);
    run.child.kill('SIGKILL');
  }
  return { code: await run.ended, out: run.stdout(), err: run.stderr() };
}

/**
 * Reads everything about a caller's instances. Reads the listing first, because the listing shows
 * stored data until an instance is in memory.
 */
async function read(caller: Caller): Promise<readonly string[]> {
  const list = async () => await caller.send('GET', '/instances?limit=100');
  const texts: string[] = [];
  for (const { id } of (await list()).body.data) {
    for (const what of ['', '/snapshot', '/contract', '/history?limit=1000', '/drift']) {
      texts.push((await caller.send('GET', `/instances/${id}${what}`)).text);
    }
  }
  return [(await list()).text, ...texts];
}

/** Compares long texts, and prints only the first difference. */
function assertSame(found: readonly string[], expected: readonly string[]): void {
  const different = expected.findIndex((text, index) => text !== found[index]);
  assert.is(different, -1, `${found[different]} is not ${expected[different]}`);
  assert.is(found.length, expected.length);
}

async function observe(caller: Caller, id: string, from: number, count: number): Promise<void> {
  for (let n = from; n < from + count; n += 1) {
    const mode = n % 3 === 0 ? 'ASSERTION' : 'CONNECTION';
    await process(caller, id, observationAt(n * 2, { mode_target: mode, signal_strength: 1 }));
  }
}

moved('is first served from a file, until its process is killed', async () => {
  const ids: string[] = [];
  {
    const service = await startOn(onFile(file));
    const caller = await newCaller(service);
    ({ key, accountId } = caller);
    for (let n = 0; n < 12; n += 1) ids.push(await createInstance(caller, { name: `n${n}` }));
    for (const [n, id] of ids.entries()) await observe(caller, id, 0, 3 + 8 * n);
    assert.is((await caller.send('DELETE', `/instances/${ids[3]}`)).status, 200);
    await end(service, 'SIGTERM');
  }
  const service = await startOn(onFile(file));
  const caller = callerOf(service, accountId, key);
  for (const id of ids.slice(4, 8)) await observe(caller, id, 200, 10);
  ids.push(await createInstance(caller, { name: 'late' }));
  assert.is((await caller.send('DELETE', `/instances/${ids[9]}`)).status, 200);
  assert.is((await caller.send('POST', `/instances/${ids[5]}/process`, KEYED)).status, 200);
  answers = await read(caller);
  const refused = await copy(['--from', `sqlite:${file}`, '--to', 'cassandra']);
  assert.is(refused.code, 1);
  assert.match(refused.err, /^ctl: \S+first\.db is served by process \d+, since [^\n]+\n$/);
  await end(service, 'SIGKILL');
});

moved('is copied despite repeated kills', async () => {
  const secret = ['--secret-file', join(folder, 'secret')];
  const argv = ['--from', `sqlite:${file}`, '--to', 'cassandra'];
  const outcomes: unknown[] = [];
  for (let n = 0; n < KILLS; n += 1) {
    const { code } = await copy(argv, Math.random() * KILLED_MS_MAX);
    outcomes.push(code);
  }
  assert.ok(outcomes.includes('SIGKILL'), String(outcomes));
  const { code, out, err } = await copy([...argv, ...secret]);
  assert.is(code, 0, err);
  assert.match(out, /: 1 account, 0 users, \d+ instances, \d+ observations, \d+ drift events,$/m);
  assert.match(out, /^Both sides are equal, and a replay/m);
  assert.is(statSync(join(folder, 'secret')).mode & 0o777, 0o600);
});

moved('gives the same answers on the cluster, including the answer to a retry', async () => {
  const service = await startOn(onCassandra());
  const caller = callerOf(service, accountId, key);
  assertSame(await read(caller), answers);
  const id = instanceOf(answers, 'n5');
  const again = await caller.send('POST', `/instances/${id}/process`, KEYED);
  assert.is(again.headers.get('idempotent-replayed'), 'true');
  await observe(caller, id, 500, 40);
  answers = await read(caller);
  await end(service, 'SIGTERM');
});

moved('is not copied again over newer data', async () => {
  const { code, err } = await copy(['--from', `sqlite:${file}`, '--to', 'cassandra']);
  assert.is(code, 1);
  assert.match(err, /^ctl: a process served cassandra:\w+ or its source after the copy began/);
});

moved('can be copied back to another file, with the cluster secret', async () => {
  const back = join(folder, 'second.db');
  const { code, err } = await copy(['--from', 'cassandra', '--to', `sqlite:${back}`]);
  assert.is(code, 0, err);
  const service = await startOn(onFile(back));
  const caller = callerOf(service, accountId, key);
  assertSame(await read(caller), answers);
  const id = instanceOf(answers, 'n5');
  const again = await caller.send('POST', `/instances/${id}/process`, KEYED);
  assert.is(again.headers.get('idempotent-replayed'), 'true');
  await end(service, 'SIGTERM');
  assert.ok(readFileSync(join(folder, 'secret'), 'utf8').length > 20);
});

function instanceOf([listed = '']: readonly string[], name: string): string {
  const { data }: { data: { id: string; name: string }[] } = JSON.parse(listed);
  return data.find((one) => one.name === name)?.id ?? '';
}

for (const [from, text] of [
  ['missing.db', /^ctl: \S+missing\.db does not exist\n$/],
  ['.', /^ctl: \S+ cannot be used: [^\n]+\n$/],
] as const) {
  moved(`cannot be copied from ${from}`, async () => {
    const { code, err } = await copy([
      '--from',
      `sqlite:${join(folder, from)}`,
      '--to',
      'cassandra',
    ]);
    assert.is(code, 1);
    assert.match(err, text);
  });
}

moved.run();
