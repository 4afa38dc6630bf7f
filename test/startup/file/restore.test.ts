import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ProcessRun, runMain } from '#test/support/process-run';
import { onFile } from '#test/support/servers/service';

const folder = mkdtempSync(join(tmpdir(), 'identity-engine-restore-'));
const path = join(folder, 'identity-engine.db');
const ON_FILE = onFile(path);

/** Number of instances. */
const INSTANCES = 8;
/** Number of observations in a batch. */
const BATCH = 10;

/** Quota above the usage before the backup, but below the total usage. */
const CYCLES = 400;

async function startService(): Promise<ProcessRun> {
  // Long timeout for a busy machine.
  const run = runMain(['standalone'], ON_FILE, 180_000);
  await run.says(/Ctrl-C/);
  return run;
}

/** Runs `ctl` to its end, without a terminal. */
async function ctl(service: ProcessRun | undefined, ...argv: string[]) {
  const admin = /Admin +(http:\S+)/.exec(service?.stdout() ?? '')?.[1];
  const variables = { ...ON_FILE, ...(admin && { SERVICE_ADMIN_URL: admin }) };
  const run = runMain(['ctl', ...argv], variables);
  return { code: await run.ended, out: run.stdout(), err: run.stderr() };
}

/** Machine-readable output of `ctl`. */
async function said(service: ProcessRun | undefined, ...argv: string[]) {
  const { code, out, err } = await ctl(service, ...argv, '--json');
  assert.is(code, 0, err);
  return JSON.parse(out);
}

/** Returns a function that sends calls with one API key to a service. */
function callers(run: ProcessRun, key: string) {
  const api = /API +(http:\S+)/.exec(run.stdout())?.[1];
  const send = async (to: string, body?: object, idempotencyKey?: string) => {
    const answer = await fetch(`${api}${to}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    return {
      status: answer.status,
      headers: answer.headers,
      data: JSON.parse(await answer.text()).data,
    };
  };
  return { send };
}

type Callers = ReturnType<typeof callers>;

/**
 * Ten observations more than a second apart, after `from` earlier observations.
 */
function batch(from: number) {
  const startMs = Date.UTC(2025, 5, 2);
  return {
    observations: Array.from({ length: BATCH }, (_, index) => ({
      mode_target: 'ORDER',
      signal_strength: 0.5,
      timestamp: new Date(startMs + (from + index) * 5_000).toISOString(),
    })),
  };
}

/** Sends the call that the test repeats with the same `Idempotency-Key` after the restore. */
function keyedCall({ send }: Callers, id: string) {
  const body = { mode_target: 'ORDER', signal_strength: 0.4, timestamp: '2025-01-01T00:00:00Z' };
  return send(`/instances/${id}/process`, body, 'before the backup');
}

/** Starts a service with an account, a key and instances. */
async function peopled() {
  const run = await startService();
  const limits = ['--requests-per-minute', '1000000', '--cycles-per-month', `${CYCLES}`];
  await said(run, 'accounts', 'create', 'acme', '--plan', 'enterprise', ...limits);
  const [account] = await said(run, 'accounts', 'list');
  const { key } = await said(run, 'keys', 'create', account.id);
  const all = callers(run, key);
  const ids: string[] = [];
  for (let index = 0; index < INSTANCES; index += 1) {
    const { status, data } = await all.send('/instances', { name: `Ada ${index}` });
    assert.is(status, 201);
    ids.push(data.id);
  }
  return { run, key, ids, all };
}

/**
 * Backs up a service under load, continues until the quota is exhausted, and kills the service.
 * `before` and `after` count the acknowledged observations of each instance at the start of the
 * backup and at the kill.
 */
async function killedAfterBackup(backup: string) {
  const { run, key, ids, all } = await peopled();
  const acknowledged = new Map(ids.map((id) => [id, 0]));
  /** Sends a batch to each instance. Returns false if a batch was refused. */
  const observeAll = async () => {
    const answers = await Promise.all(
      ids.map(async (id) => {
        const from = acknowledged.get(id) ?? 0;
        const { status } = await all.send(`/instances/${id}/process/batch`, batch(from));
        if (status === 200) acknowledged.set(id, from + BATCH);
        return status;
      }),
    );
    return answers.every((status) => status === 200);
  };
  const [first = ''] = ids;
  const keyed = await keyedCall(all, first);
  assert.is(keyed.status, 200);
  assert.ok(await observeAll());
  const before = new Map(acknowledged);
  const going = (async () => {
    let rounds = 0;
    while (await observeAll()) rounds += 1;
    return rounds;
  })();
  const copied = await said(run, 'backup', backup);
  assert.is(copied.accounts, 1);
  assert.ok((await going) > 0, 'calls continued during the backup');
  run.child.kill('SIGKILL');
  await run.ended;
  return { key, ids, first, keyed, before, after: acknowledged };
}

const restored = suite('a restored file');

restored(
  'has every change acknowledged before its backup, and never exceeds the plan',
  async () => {
    const backup = join(folder, 'backup.db');
    const { key, ids, first, keyed, before, after } = await killedAfterBackup(backup);
    const refused = await ctl(undefined, 'restore', backup);
    assert.is(refused.code, 1);
    assert.match(refused.err, /add --yes to confirm/);
    const { kept } = await said(undefined, 'restore', backup, '--yes');
    assert.ok(readdirSync(folder).some((name) => join(folder, name) === kept));

    const run = await startService();
    const all = callers(run, key);
    for (const id of ids) {
      const { data } = await all.send(`/instances/${id}`);
      const observations = data.cycle_count - (id === first ? 1 : 0);
      assert.ok(observations >= (before.get(id) ?? 0), 'acknowledged observations are stored');
      assert.ok(observations <= (after.get(id) ?? 0), 'no other observation is stored');
    }
    const repeated = await keyedCall(all, first);
    assert.is(repeated.headers.get('idempotent-replayed'), 'true');
    assert.equal(repeated.data, keyed.data);

    const { usage } = (await all.send('/account')).data;
    assert.ok(
      CYCLES - usage.month.remaining >= (await cyclesOf(all, ids)),
      'all cycles are charged',
    );
    let from = 10_000;
    while ((await all.send(`/instances/${first}/process/batch`, batch(from))).status === 200) {
      from += BATCH;
    }
    assert.ok((await cyclesOf(all, ids)) <= CYCLES, 'the plan is not exceeded');
    run.child.kill('SIGTERM');
    assert.is(await run.ended, 0, run.stderr());
    for (const id of ids) assert.is((await said(undefined, 'verify', id)).result.kind, 'same');
  },
);

/** Total cycles of these instances. */
async function cyclesOf({ send }: Callers, ids: readonly string[]): Promise<number> {
  const found = await Promise.all(ids.map((id) => send(`/instances/${id}`)));
  return found.reduce((sum, { data }) => sum + data.cycle_count, 0);
}

const closing = suite('the files of this test');
closing('are removed', () => rmSync(folder, { recursive: true }));

for (const group of [restored, closing]) group.run();
