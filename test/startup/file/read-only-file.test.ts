import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { UNRECORDED_SHARE } from '#limiter/quota-bounds';
import { type Answer, type Caller, callerOf } from '#test/support/calls/caller';
import {
  limitOf,
  newDocumentedCaller,
  observationAt,
  type SceneCaller,
} from '#test/support/calls/scene';
import { metricValues } from '#test/support/metric-values';
import { onFile, type Service, startStandalone } from '#test/support/servers/service';
import { soon } from '#test/support/soon';

/*
 * A served file becomes read-only, as after a read-only remount by the kernel. The test makes the
 * file immutable, which also affects open files and can be undone. Requires root, and ext4 or a
 * similar file system.
 */

/** Requests per minute of the account. */
const PLAN = 400;
/** Cycles per month of the account. */
const CYCLES = 1_000;

/** Number of requests available for reads without a journal record. */
const SHARE = PLAN * UNRECORDED_SHARE;

/** Maximum requests that the limiter pre-allocates at a few requests per second. */
const AHEAD_MAX = 60;

const root = mkdtempSync(join(tmpdir(), 'identity-engine-immutable-'));
let folders = 0;

/** A file in its own folder, with functions that make it read-only and writable. */
function newFile() {
  folders += 1;
  const folder = join(root, `${folders}`);
  mkdirSync(folder);
  const file = join(folder, 'identity-engine.db');
  const change = (flag: '+i' | '-i') =>
    assert.is(spawnSync('chattr', [flag, file, `${file}-wal`]).status, 0);
  return { variables: onFile(file), forbid: () => change('+i'), allow: () => change('-i') };
}

/** Whether an open file can be made immutable here. */
function mayForbid(): boolean {
  const probe = join(root, 'probe');
  const file = openSync(probe, 'w');
  try {
    if (spawnSync('chattr', ['+i', probe]).status !== 0) return false;
    writeSync(file, 'x');
    return false;
  } catch {
    return true;
  } finally {
    spawnSync('chattr', ['-i', probe]);
    closeSync(file);
  }
}

/** Sends the requests of one account, and counts the granted requests. */
class Requests {
  granted = 0;
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  async send(method: string, path: string, sent?: { json: unknown }): Promise<Answer> {
    const answer = await this.#caller.send(method, path, sent);
    if (answer.status < 400) this.granted += 1;
    if (answer.status === 503) assert.ok(answer.headers.has('retry-after'), answer.text);
    return answer;
  }

  async observe(id: string, seconds: number): Promise<number> {
    const sent = { json: observationAt(seconds) };
    return (await this.send('POST', `/instances/${id}/process`, sent)).status;
  }

  /** Reads `times` times. Returns the number of granted requests. */
  async read(id: string, times: number): Promise<number> {
    const before = this.granted;
    for (let at = 0; at < times; at += 1) {
      const what = at % 2 === 0 ? 'snapshot' : 'contract';
      const { status } = await this.send('GET', `/instances/${id}/${what}`);
      assert.ok([200, 429, 503].includes(status), `${status}`);
    }
    return this.granted - before;
  }
}

const unrecordedBytes = async (service: Service) =>
  (await metricValues(service)).get('transitions_unrecorded_bytes');

/**
 * Creates an observed instance, and a second instance with an observation in flight when writes
 * become impossible.
 */
async function newHeldUp(service: Service, caller: SceneCaller, forbid: () => void) {
  const requests = new Requests(caller);
  const [id, other] = [await caller.createInstance(), await caller.createInstance()];
  requests.granted += 2;
  assert.is(await requests.observe(id, 0), 200);
  // The log of the account is written later. A failed write of the log would look like the call.
  await soon('recorded transitions', async () => (await unrecordedBytes(service)) === 0);
  forbid();
  const underWay = requests.observe(other, 0).catch(() => 0);
  // The journals of the engine and of the limiter log one line each.
  await soon('a notice', () => service.log().split('all changes are refused until').length === 3);
  const startedMs = performance.now();
  assert.is((await requests.send('GET', `/instances/${other}/snapshot`)).status, 503);
  assert.is(await requests.observe(id, 100), 503);
  assert.ok(performance.now() - startedMs < 1_000, 'refusals do not wait for the disk');
  return { requests, id, underWay };
}

const immutable = suite('a service on a file');

// Not at the end of the process: a killed worker would leave files that nobody can remove.
immutable.after(() => {
  spawnSync('chattr', ['-R', '-i', root]);
  rmSync(root, { recursive: true, force: true });
});

const run = mayForbid() ? immutable : immutable.skip;
if (run === immutable.skip) console.log('skipped: only root can make a file immutable');

run(
  'answers only reads while its file is read-only, and changes when writes are possible again',
  async () => {
    const { variables, forbid, allow } = newFile();
    await using service = await startStandalone(variables);
    const caller = await newDocumentedCaller(service, {
      requestsPerMinute: PLAN,
      cyclesPerMonth: CYCLES,
    });
    const { requests, id, underWay } = await newHeldUp(service, caller, forbid);
    assert.is(await requests.read(id, SHARE / 2), SHARE / 2);
    const answered = await requests.read(id, SHARE + AHEAD_MAX);
    // One request was counted for the refused read.
    assert.ok(answered >= SHARE / 2 - 1 && answered < SHARE / 2 + AHEAD_MAX, `${answered} reads`);
    allow();
    await soon('an accepted change', async () => (await requests.observe(id, 100)) === 200);
    const snapshot = await requests.send('GET', `/instances/${id}/snapshot`);
    assert.is(snapshot.body.data.cycle, 2, 'refused calls have no effect');
    assert.is(await underWay, 200, 'the call in flight must succeed after the wait');
    const account = await requests.send('GET', '/account');
    assert.is(limitOf(account, 'monthly'), CYCLES - 3, 'refused calls are not charged');
    assert.match(service.log(), /the journal can be written again/);
  },
);

run('never exceeds the plan if it is killed while its file is read-only', async () => {
  const { variables, forbid, allow } = newFile();
  const first = await startStandalone(variables);
  const caller = await newDocumentedCaller(first, { requestsPerMinute: PLAN });
  const { requests, id } = await newHeldUp(first, caller, forbid);
  await requests.read(id, SHARE + AHEAD_MAX);
  assert.ok(requests.granted >= SHARE, `${requests.granted} granted`);
  first.processes.get('standalone')?.kill('SIGKILL');
  await first[Symbol.asyncDispose]();
  allow();
  await using second = await startStandalone(variables);
  const after = new Requests(callerOf(second, caller.accountId, caller.key));
  await after.read(id, PLAN);
  const both = `${requests.granted} and ${after.granted} of ${PLAN} granted`;
  assert.ok(requests.granted + after.granted <= PLAN, both);
  assert.ok(after.granted >= PLAN - 2 * SHARE - AHEAD_MAX, both);
});

run('loses no pre-allocated requests in a clean stop', async () => {
  const { variables } = newFile();
  const first = await startStandalone(variables);
  const { accountId, key } = await newDocumentedCaller(first, { requestsPerMinute: PLAN });
  await first[Symbol.asyncDispose]();
  await using second = await startStandalone(variables);
  const answer = await callerOf(second, accountId, key).send('GET', '/instances');
  assert.is(limitOf(answer, 'remaining'), PLAN - 1);
});

immutable.run();
