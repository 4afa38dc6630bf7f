import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { admin } from '#test/support/calls/caller';
import { newDocumentedCaller, observationAt, type SceneCaller } from '#test/support/calls/scene';
import { type Service, startStandalone } from '#test/support/servers/service';
import { soon } from '#test/support/soon';

/* Size in MiB of an in-memory file system, which the test mounts as root and fills. */

const DISK_MIB = 160;

const folder = mkdtempSync(join(tmpdir(), 'identity-engine-disk-'));
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'tmpfs', folder]);
const isMounted = mounted.status === 0;
if (!isMounted) console.log('skipped: only root can mount a file system');

const file = join(folder, 'identity-engine.db');
const VARIABLES = { SERVICE_STORAGE: 'sqlite', SERVICE_SQLITE_FILE: file, SERVICE_SHARDS: '8' };

function fill(name: string, mebibytes: number): void {
  // `dd` stops when the disk is full.
  spawnSync('dd', ['if=/dev/zero', `of=${join(folder, name)}`, 'bs=1M', `count=${mebibytes}`]);
}

const disk = suite('a service on a file');

// Not at the end of the process: a killed worker would leave the file system mounted.
disk.after(() => {
  if (isMounted) spawnSync('umount', ['--lazy', folder]);
  rmSync(folder, { recursive: true, force: true });
});

async function observed(caller: SceneCaller, id: string, second: number) {
  return await caller.send('POST', `/instances/${id}/process`, { json: observationAt(second) });
}

async function served(use: (service: Service, caller: SceneCaller, id: string) => Promise<void>) {
  await using service = await startStandalone(VARIABLES);
  const caller = await newDocumentedCaller(service);
  const id = await caller.createInstance();
  await use(service, caller, id);
}

const run = isMounted ? disk : disk.skip;

run('refuses changes and answers reads while the disk is nearly full', async () => {
  await served(async (_, caller, id) => {
    assert.is((await observed(caller, id, 0)).status, 200);
    await soon('the reserve', () => existsSync(`${file}-reserve`));
    fill('others', DISK_MIB - 32 - 50);
    let refused = await observed(caller, id, 1);
    for (let second = 2; refused.status === 200 && second < 100; second += 1) {
      await sleep(100);
      refused = await observed(caller, id, second);
    }
    assert.is(refused.status, 503);
    assert.is(refused.body.details.reason, 'overloaded');
    assert.is(refused.headers.get('retry-after'), '5');
    const before = await caller.send('GET', `/instances/${id}/snapshot`);
    assert.is(before.status, 200);
    assert.is((await caller.send('GET', `/instances/${id}/contract`)).status, 200);
    rmSync(join(folder, 'others'));
    await soon('an accepted change', async () => (await observed(caller, id, 200)).status === 200);
    const after = await caller.send('GET', `/instances/${id}/snapshot`);
    assert.is(after.body.data.cycle, before.body.data.cycle + 1, 'refused calls have no effect');
  });
});

run('frees its reserve when the disk is full, and loses no acknowledged change', async () => {
  let cycles = 0;
  let path = '';
  let key = '';
  await served(async (service, caller, id) => {
    path = `/instances/${id}/snapshot`;
    key = caller.key;
    await soon('the reserve', () => existsSync(`${file}-reserve`));
    fill('others', DISK_MIB);
    // Creates accounts until SQLite runs out of space and the reserve is freed.
    await soon('a write on the full disk', async () => {
      const name = 'x'.repeat(100);
      const made = admin(service, 'POST', '/accounts', { name, plan: 'free' });
      await made.catch(() => undefined);
      return !existsSync(`${file}-reserve`);
    });
    fill('the rest', DISK_MIB);
    const read = async () => (await caller.send('GET', path)).status;
    await soon('reads on the full disk', async () => (await read()) === 200);
    for (let reads = 0; reads < 100; reads += 1) {
      assert.is(await read(), 200);
      await sleep(20);
    }
    rmSync(join(folder, 'others'));
    rmSync(join(folder, 'the rest'), { force: true });
    await soon('room', async () => (await observed(caller, id, 0)).status === 200);
    cycles = (await caller.send('GET', path)).body.data.cycle;
    await soon('the reserve again', () => existsSync(`${file}-reserve`));
  });
  await using service = await startStandalone(VARIABLES);
  const answer = await fetch(`${service.api}${path}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const body: ReturnType<typeof JSON.parse> = await answer.json();
  assert.is(body.data.cycle, cycles);
});

disk.run();
