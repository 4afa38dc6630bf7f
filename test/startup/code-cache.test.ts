import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runMain } from '#test/support/process-run';
import { turnOfEvents } from '#test/support/settled';

const cache = suite("the service's compile cache of Node.js");

/** Compiled files of a standalone process at least. */
const FILES_MIN = 300;

/** Maximum lifetime of a process that writes no cache, in milliseconds. */
const RUN_MS_MAX = 10_000;

let home = '';

cache.before(async () => {
  home = await mkdtemp(join(tmpdir(), 'code-cache-'));
});

cache.after(async () => {
  await rm(home, { recursive: true });
});

/** Runs a command that only prints its usage. */
async function helpWith(variables: Record<string, string | undefined>): Promise<string> {
  const own = { NODE_COMPILE_CACHE: undefined, NODE_DISABLE_COMPILE_CACHE: undefined };
  const run = runMain(['ctl', '--help'], { ...own, ...variables });
  assert.is(await run.ended, 0, run.stderr());
  assert.is(run.stderr(), '');
  return run.stdout();
}

cache("is in the user's home folder by default", async () => {
  const first = await helpWith({ HOME: home });
  const kept = await readdir(join(home, '.cache/identity-engine/node'), { recursive: true });
  assert.ok(kept.length > 20, `${kept}`);
  assert.is(await helpWith({ HOME: home }), first);
});

// The cache was written at the end of a process, and a killed process left none.
cache('is written when the service is ready, not only at its end', async () => {
  const kept = join(home, 'killed');
  const own = { NODE_COMPILE_CACHE: kept, NODE_DISABLE_COMPILE_CACHE: undefined };
  const run = runMain(['standalone'], { HOME: '/dev/null', ...own }, RUN_MS_MAX);
  await run.says(/is ready/);
  // The cache is written directly after this line.
  while (run.child.signalCode === null && (await filesIn(kept)) < FILES_MIN) await turnOfEvents();
  run.child.kill('SIGKILL');
  await run.ended;
  assert.ok((await filesIn(kept)) >= FILES_MIN);
});

async function filesIn(folder: string): Promise<number> {
  return (await readdir(folder, { recursive: true })).length;
}

for (const [what, nowhere] of [
  ['in an unwritable home folder', '/dev/null'],
  ['without a home folder', ''],
  ['in a relative home folder, which may have another owner', 'relative'],
] as const) {
  cache(`is neither written nor needed ${what}`, async () => {
    assert.match(await helpWith({ HOME: nowhere }), /accounts/);
    assert.not(existsSync(join(nowhere, '.cache/identity-engine')));
  });
}

cache('is in the folder of NODE_COMPILE_CACHE if set', async () => {
  const elsewhere = join(home, 'elsewhere');
  await helpWith({ HOME: '/dev/null', NODE_COMPILE_CACHE: elsewhere });
  assert.ok((await readdir(elsewhere)).length > 0);
});

cache.run();
