import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compilePreload, preloadLack } from '#test/power-loss/disk/preloaded-library';
import { checkImages } from '#test/power-loss/image-check';
import { runKills } from '#test/power-loss/kill-run';
import { recordRun } from '#test/power-loss/recorded-run';
import { findingsOf, type PowerLossResult, reportText } from '#test/power-loss/report';

/*
 * Power-loss test: kills a service on a SQLite file under load, and simulates power losses of its
 * disk. Proves from the remaining data that no change was lost, applied twice or granted above a
 * plan. A complete run writes docs/power-loss.md. The exit status is 1 if a check has findings.
 * Usage: node test/power-loss/main.ts [--cuts 200] [--images 300] [--seed 1]
 */

const CUTS = 200;
const IMAGES = 300;

/** Kills per file: limited, because checks take longer with more calls. */
const CUTS_PER_FILE = 50;

/** Recorded runs. Every second run has slow syncs. */
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
  const lack = preloadLack();
  const [cuts, images, seed] = [values.cuts, values.images, values.seed].map(Number);
  if (lack !== undefined || !cuts || !images || !seed) {
    console.error(lack ?? '--cuts, --images and --seed need whole numbers above 0');
    return 2;
  }
  const place = await mkdtemp(join(tmpdir(), 'identity-engine-power-loss-'));
  const isWhole = cuts >= CUTS && images >= IMAGES;
  const result: PowerLossResult = { images: [], kills: [] };
  const write = async (): Promise<void> => {
    const text = reportText(result, (performance.now() - startedMs) / 1_000);
    // Write after every part, because the next part may fail.
    await writeFile(isWhole ? 'docs/power-loss.md' : join(place, 'power-loss.md'), text);
    console.log(`\n${text}`);
  };
  const library = await compilePreload(place, 'disk-recorder');
  for (let number = 0; number < RUNS; number += 1) {
    const syncUs = number % 2 === 0 ? 0 : SLOW_SYNC_US;
    const plan = { seed: seed + number, syncUs, count: Math.ceil(images / RUNS) };
    result.images.push(await takePower(await mkdtemp(join(place, 'run-')), library, plan));
    await write();
  }
  for (let left = cuts; left > 0; left -= CUTS_PER_FILE) {
    const kills = Math.min(left, CUTS_PER_FILE);
    const folder = await mkdtemp(join(place, 'kills-'));
    result.kills.push(
      await runKills({ ...KILL_LOAD, place: folder, kills, seed: seed + left, print }),
    );
    await write();
  }
  const isClean = findingsOf(result).length === 0;
  if (isClean) await rm(place, { recursive: true });
  else console.log(`files and logs: ${place}`);
  return isClean ? 0 : 1;
}

type PowerPlan = { readonly seed: number; readonly syncUs: number; readonly count: number };

async function takePower(folder: string, library: string, { seed, syncUs, count }: PowerPlan) {
  print(`recording the disk writes of a service, with syncs ${syncUs / 1_000} ms slower`);
  const recorded = await recordRun(folder, library, { ...IMAGE_LOAD, seed, syncUs });
  print(`checking ${count} images of the disk`);
  const checked = await checkImages(folder, recorded, { count, seed });
  print(`${checked.findings.length} findings`);
  return { ...checked, syncUs, calls: recorded.calls.length };
}

function print(line: string): void {
  const seconds = (performance.now() - startedMs) / 1_000;
  console.log(`${seconds.toFixed(1).padStart(7)} s  ${line}`);
}
