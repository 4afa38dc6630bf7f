import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { compilePreload, preloadLack } from '#test/power-loss/disk/preloaded-library';
import { RecordedDisk } from '#test/power-loss/disk/recorded-disk';
import { checkImages, type ImagesResult } from '#test/power-loss/image-check';
import { type RecordedRun, recordRun } from '#test/power-loss/recorded-run';
import { suiteUnless } from '#test/support/servers/real-servers';

/** Light load, because other tests run at the same time. The third account uses up its quota. */
const LOAD = {
  seed: 1,
  callsPerSecond: 60,
  instances: 60,
  quotas: [undefined, undefined, 60],
  lifeS: 3,
  syncUs: 2_000,
} as const;

/** Maximum and minimum images, and time limit in milliseconds. */
const IMAGES = 100;
const IMAGES_MIN = 15;
const CHECK_MS_MAX = 60_000;

const lost = suiteUnless(preloadLack())('when a machine with a SQLite file loses power');

let place = '';
let run: RecordedRun;
let result: ImagesResult;

lost.before(async () => {
  place = await mkdtemp(join(tmpdir(), 'power-loss-'));
  run = await recordRun(place, await compilePreload(place, 'disk-recorder'), LOAD);
});

lost.after(async () => {
  await rm(place, { recursive: true, force: true });
});

lost('the recorded writes reproduce the actual files byte for byte', async () => {
  const disk = new RecordedDisk();
  for (const record of run.records) disk.take(record);
  const { contents } = disk;
  assert.ok(contents.size >= 2, `${[...contents.keys()]}`);
  for (const [path, bytes] of contents) assert.ok(bytes.equals(await readFile(path)), path);
});

lost('every change acknowledged before is stored once, within the plan', async () => {
  result = await checkImages(place, run, { count: IMAGES, seed: 2, msMax: CHECK_MS_MAX });
  assert.equal(result.findings, []);
});

lost('the check covers many observations and a used-up quota', () => {
  const limited = run.accounts.find(({ quota }) => quota === LOAD.quotas[2]);
  const refused = run.calls.filter(
    ({ accountId, outcome }) => accountId === limited?.accountId && outcome.kind === 'refused',
  );
  assert.ok(refused.length > 0, 'no call was refused for its quota');
  const { images, observations, verified } = result;
  assert.ok(images >= IMAGES_MIN, `only ${images} images were checked`);
  assert.ok(observations > 20 * images, `only ${observations} observations were checked`);
  assert.ok(verified > 20 * images, `only ${verified} heads were recomputed`);
});

lost('the check detects acknowledged changes that are missing on disk', async () => {
  const { findings } = await checkImages(place, run, { count: 4, seed: 3, lateMs: 700 });
  assert.ok(findings.length > 0, 'the check has no findings');
});

lost.run();
