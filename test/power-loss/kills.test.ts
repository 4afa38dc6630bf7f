import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { printNothing } from '#deploy/local/progress';
import { type KillsResult, runKills } from '#test/power-loss/kill-run';

/**
 * Light load, because other tests run at the same time. The third account uses up its quota. The
 * command `make power-loss` runs longer.
 */
const LOAD = {
  seed: 1,
  kills: 25,
  msMax: 60_000,
  callsPerSecond: 60,
  instances: 60,
  quotas: [undefined, undefined, 150],
} as const;

/** Minimum kills, even on a busy machine. */
const KILLS_MIN = 5;

const killed = suite('when a service on a SQLite file is killed several times');

let place = '';
let result: KillsResult;

killed.before(async () => {
  place = await mkdtemp(join(tmpdir(), 'kills-'));
  result = await runKills({ ...LOAD, place, print: printNothing });
});

killed.after(async () => {
  await rm(place, { recursive: true, force: true });
});

killed('every acknowledged change is stored exactly once after each kill', () => {
  assert.equal(result.findings, []);
  assert.ok(result.kills >= KILLS_MIN, `only ${result.kills} kills`);
  assert.ok(result.verified > result.kills * LOAD.instances * 0.5, `only ${result.verified} heads`);
});

killed('the final file matches the answers to all callers', () => {
  const { findings, observations, calls } = result.last;
  assert.equal(findings.lines, []);
  assert.ok(observations > 100, `only ${observations} observations`);
  assert.ok(calls.acknowledged > 200, `only ${calls.acknowledged} calls were acknowledged`);
});

killed('the service becomes ready after more than a third of the kills', () => {
  assert.ok(result.readyMs.length > result.kills / 3, `only ${result.readyMs.length} starts`);
});

killed.run();
