import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { installedNode, NODE_RELEASES } from '#deploy/local/install/node-releases';
import { outputOf } from '#deploy/local/processes/run-program';

/** Timeout of a run, in milliseconds. */
const RUN_MS_MAX = 120_000;

const folder = mkdtempSync(join(tmpdir(), 'node-releases-'));
const script = join(folder, 'lives.mjs');

const releases = suite('on another release of Node.js');

releases.before(async () => {
  const entry = { entryPoints: ['test/identity/print-lives.ts'], outfile: script };
  await build({ ...entry, bundle: true, platform: 'node', format: 'esm', target: 'node20' });
});
releases.after(() => rmSync(folder, { recursive: true }));

// The operator `**` has other last bits before Node.js 24.
for (const release of NODE_RELEASES) {
  releases(`${release}, all lives have the recorded states and reports, bit for bit`, async () => {
    const program = await installedNode(release, console.log);
    const run = (args: string[]) => outputOf({ program, args, msMax: RUN_MS_MAX });
    assert.is((await run(['--version'])).trim(), `v${release}`);
    assert.is(await run([script]), readFileSync('test/identity/lives.txt', 'utf8'));
  });
}

releases.run();
