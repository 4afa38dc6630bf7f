import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compileRecorder, recorderLack } from '#test/power-loss/disk-recorder';
import { checkImages } from '#test/power-loss/image-check';
import { runKills } from '#test/power-loss/kill-run';
import { recordRun } from '#test/power-loss/recorded-run';
import { type PowerLossResult, reportText } from '#test/power-loss/report';

/*
 * Kills the service on an SQLite file under load, and takes the power from its disk, again and again, and
 * proves from what is left that nothing was lost, doubled or given above a plan. A whole run writes
 * docs/power-loss.md. Ends with status 1 when a check finds anything.
 * Usage: node test/power-loss/main.ts [--cuts 200] [--images 300] [--seed 1]
 */

const CUTS = 200;
const IMAGES = 300;

/** Kills of one file: with every call the check of a copy takes longer. */
const CUTS_PER_FILE = 50;

/** Recorded runs; the syncs of each second one are slow. */
const RUNS = 3;
const SLOW_SYNC_US = 4_000;

const KILL_LOAD = { callsPerSecond: 60, instances: 80, quotas: [undefined, undefined, 400] };
const IMAGE_LOAD = {
  callsPerSecond: 100,
  instances: 150,
  quotas: [undefined, undefined, undefined, 100],
  lifeS: 8,
};

const { values } = parseArgs({
  options: {
    cuts: { type: 'string', default: `${CUTS}` },
    images: { type: 'string', default: `${IMAGES}` },
    seed: { type: 'string', default: '1' },
  },
});

const startedMs = performance.now();

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.exitCode = await run();

async function run(): Promise<number> {
  const lack = recorderLack();
  if (lack !== undefined) {
    console.error(lack);
    return 2;
  }
  const place = await mkdtemp(join(tmpdir(), 'identity-engine-power-loss-'));
  const [cuts, images, seed] = [values.cuts, values.images, values.seed].map(Number);
  if (!cuts || !images || !seed) {
    console.error('--cuts, --images and --seed take whole numbers above 0');
    return 2;
  }
  const result = {
    images: await takePower(place, images, seed),
    kills: await killAgain(place, cuts, seed),
  };
  const text = reportText(result, (performance.now() - startedMs) / 1_000);
  const isWhole = cuts >= CUTS && images >= IMAGES;
  if (isWhole) await writeFile('docs/power-loss.md', text);
  console.log(`\n${text}`);
  await rm(place, { recursive: true });
  return text.includes('Nothing is wrong') ? 0 : 1;
}

async function takePower(place: string, images: number, seed: number) {
  const library = await compileRecorder(place);
  const results: PowerLossResult['images'][number][] = [];
  for (let number = 0; number < RUNS; number += 1) {
    const syncUs = number % 2 === 0 ? 0 : SLOW_SYNC_US;
    const folder = await mkdtemp(join(place, 'run-'));
    print(`recording run ${number + 1} of ${RUNS}`);
    const recorded = await recordRun(folder, library, {
      ...IMAGE_LOAD,
      seed: seed + number,
      syncUs,
    });
    const count = Math.ceil(images / RUNS);
    print(`checking ${count} images of its disk`);
    const checked = await checkImages(folder, recorded, { count, seed: seed + number });
    results.push({ ...checked, syncUs, calls: recorded.calls.length });
    print(`${checked.findings.length} findings`);
  }
  return results;
}

async function killAgain(place: string, cuts: number, seed: number) {
  const results: PowerLossResult['kills'][number][] = [];
  for (let left = cuts; left > 0; left -= CUTS_PER_FILE) {
    const kills = Math.min(left, CUTS_PER_FILE);
    const folder = await mkdtemp(join(place, 'kills-'));
    results.push(await runKills({ ...KILL_LOAD, place: folder, kills, seed: seed + left, print }));
  }
  return results;
}

function print(line: string): void {
  const seconds = (performance.now() - startedMs) / 1_000;
  console.log(`${seconds.toFixed(1).padStart(7)} s  ${line}`);
}
