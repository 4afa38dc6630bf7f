import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock as clock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { incarnationAt } from '#test/grpc/admin-call';
import { newCaller } from '#test/support/calls/caller';
import { createInstance, observationAt, process } from '#test/support/calls/scene';
import { metricValues } from '#test/support/metric-values';
import { addressIn, type ProcessRun, runMain } from '#test/support/process-run';
import { type Holder, pemOf } from '#test/support/servers/server-certificates';
import type { Service } from '#test/support/servers/service';
import { refusalOf } from '#test/support/settled';
import { soon } from '#test/support/soon';

/** Maximum time until a change applies on a busy machine, in milliseconds. */
const PATIENCE_MS = 30_000;

/** Maximum lifetime of a process in the test, in milliseconds. Each change takes seconds. */
const RUN_MS_MAX = 180_000;

const SECRET = 'the secret of this test';

/** Creates a folder with certificates and a cluster secret, which processes watch. */
function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'rotated-processes-'));
  const put = (file: string, text: string) => {
    writeFileSync(join(folder, 'new'), text);
    cpSync(join(folder, 'new'), join(folder, file));
  };
  /** Writes the certificate and key of `shown`, and the authorities of `trusted`. */
  const show = (shown: Holder, ...trusted: readonly Holder[]) => {
    put('ca.crt', trusted.map((holder) => pemOf(holder, 'ca.crt')).join(''));
    put('tls.crt', pemOf(shown, 'tls.crt'));
    put('tls.key', pemOf(shown, 'tls.key'));
  };
  show('member', 'member');
  const secretFile = join(folder, 'secret');
  writeFileSync(secretFile, `${SECRET}\n`);
  const close = () => rmSync(folder, { recursive: true });
  return { folder, put, show, secretFile, [Symbol.dispose]: close };
}

async function startAll(folder: string, secretFile: string) {
  const variables = { SERVICE_TLS_FOLDER: folder };
  const engine = runMain(['engine'], variables, RUN_MS_MAX);
  const limiter = runMain(['limiter'], variables, RUN_MS_MAX);
  await Promise.all([engine.says(/ready/), limiter.says(/ready/)]);
  const around = {
    SERVICE_CLUSTER_SECRET_FILE: secretFile,
    SERVICE_ENGINE_ADDRESS: addressIn(engine, 'grpc'),
    SERVICE_LIMITER_ADDRESS: addressIn(limiter, 'grpc'),
    SERVICE_LIMITER_TIMEOUT_MS: '5000',
  };
  const edge = runMain(['edge'], { ...variables, ...around }, RUN_MS_MAX);
  await edge.says(/ready/);
  const service = { api: addressIn(edge, 'api'), adminUrl: addressIn(limiter, 'admin') };
  return { engine, limiter, edge, service: service as Service };
}

/** Value of a process's metric series. */
async function valueAt(run: ProcessRun, series: string): Promise<number> {
  const values = await metricValues({ metricsUrl: addressIn(run, 'metrics') });
  return values.get(series) ?? Number.NaN;
}

const until = (what: string, isSo: () => Promise<boolean>) =>
  soon(what, isSo, { withinMs: PATIENCE_MS });

const LOADED = 'credential_loaded_timestamp_seconds';
const FAILURES = 'credential_reload_failures_total';

/** Makes a change. Resolves when each process has loaded the change. */
async function taken(runs: readonly ProcessRun[], use: string, change: () => void): Promise<void> {
  const series = `${LOADED}{use="${use}"}`;
  const before = await Promise.all(runs.map((run) => valueAt(run, series)));
  change();
  await until(`the reload of ${use}`, async () => {
    const now = await Promise.all(runs.map((run) => valueAt(run, series)));
    return now.every((at, place) => at > (before[place] ?? 0));
  });
}

/** Calls over a new connection with the certificates of `holder`. */
function ask(run: ProcessRun, holder: Holder): Promise<string> {
  const read = (file: Parameters<typeof pemOf>[1]) => Buffer.from(pemOf(holder, file));
  const shown = { authority: read('ca.crt'), certificate: read('tls.crt'), key: read('tls.key') };
  const options = { timeoutMs: 5_000, clock, tls: unchanging(shown) };
  return incarnationAt(addressIn(run, 'grpc'), options);
}

async function endAll(runs: readonly ProcessRun[]): Promise<void> {
  for (const run of runs) run.child.kill('SIGTERM');
  for (const run of runs) assert.is(await run.ended, 0, run.stderr());
}

const rotated = suite('edge, engine and limiter with a rotation at run time');

rotated('change to another certificate authority without a restart or an error', async () => {
  using files = newFolder();
  const { folder, show } = files;
  const { engine, limiter, edge, service } = await startAll(folder, files.secretFile);
  const runs = [engine, limiter, edge];
  const caller = await newCaller(service);
  const id = await createInstance(caller);
  let cycle = 0;
  const call = async () => {
    cycle += 1;
    assert.is((await process(caller, id, observationAt(cycle))).snapshot.cycle, cycle);
  };
  await call();
  assert.ok(await ask(engine, 'member'));
  await refusalOf(() => ask(engine, 'stranger'));
  for (const change of [
    () => show('member', 'member', 'stranger'),
    () => show('stranger', 'member', 'stranger'),
    () => show('stranger', 'stranger'),
  ]) {
    await taken(runs, 'wire', change);
    await call();
  }
  assert.ok(await ask(engine, 'stranger'));
  await refusalOf(() => ask(engine, 'member'));
  // An edge that started with the old files connects to an engine with the new files.
  const address = addressIn(engine, 'grpc');
  await endAll([engine]);
  const next = runMain(['engine'], { SERVICE_TLS_FOLDER: folder, SERVICE_ENGINE_LISTEN: address });
  await next.says(/ready/);
  await until('a connection of the edge', async () => {
    const { status } = await caller.send('GET', '/instances');
    return status === 200;
  });
  for (const run of runs)
    assert.is(await valueAt(run, `${FAILURES}{use="wire"}`).catch(() => 0), 0);
  await endAll([edge, limiter, next]);
});

rotated('keep their certificates if the new key is wrong, and log the error once', async () => {
  using files = newFolder();
  const { folder, put } = files;
  const engine = runMain(['engine'], { SERVICE_TLS_FOLDER: folder });
  await engine.says(/ready/);
  put('tls.key', readFileSync('test/grpc/certificates/stranger/tls.key', 'utf8'));
  const failures = () => valueAt(engine, `${FAILURES}{use="wire"}`);
  await until('a second counted failure', async () => (await failures()) >= 2);
  assert.ok(await ask(engine, 'member'));
  const lines = engine.stderr().trimEnd().split('\n');
  assert.is(lines.length, 1, engine.stderr());
  const { level, use, why } = JSON.parse(lines[0] ?? '');
  const wanted = `SERVICE_TLS_FOLDER: ${folder}/tls.key is not the key of tls.crt`;
  assert.equal([level, use, why], ['warn', 'wire', wanted]);
  const probe = async () => {
    const answer = await fetch(new URL('/health/ready', addressIn(engine, 'metrics')));
    return `${answer.status} ${await answer.text()}`;
  };
  assert.is(await probe(), `200 ready\n${wanted}: the previous content stays in use\n`);
  await taken([engine], 'wire', () => files.show('engine', 'engine'));
  assert.is(await probe(), '200 ready\n');
  assert.ok(await ask(engine, 'member'));
  await endAll([engine]);
});

rotated('replay a keyed create after a rotation of the cluster secret', async () => {
  using files = newFolder();
  const { folder, secretFile } = files;
  const { engine, limiter, edge, service } = await startAll(folder, secretFile);
  const caller = await newCaller(service);
  const next = 'the next secret of this test';
  const create = async (key: string) => {
    const headers = { 'idempotency-key': key };
    const { status, body } = await caller.send('POST', '/instances', {
      json: { name: 'Ada' },
      headers,
    });
    assert.is(status, 201);
    return body.data.id;
  };
  const made = await create('before');
  for (const lines of [
    [SECRET, next],
    [next, SECRET],
  ]) {
    await taken([edge], 'cluster_secret', () => writeFileSync(secretFile, lines.join('\n')));
    assert.is(await create('before'), made);
  }
  const later = await create('after');
  await taken([edge], 'cluster_secret', () => writeFileSync(secretFile, next));
  assert.is(await create('after'), later);
  await endAll([edge, limiter, engine]);
});

rotated.run();
