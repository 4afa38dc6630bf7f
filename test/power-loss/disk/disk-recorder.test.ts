import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { runProgram } from '#deploy/local/processes/run-program';
import { Chance } from '#test/chaos/faults/chance';
import { writeImage } from '#test/power-loss/disk/disk-image';
import { type DiskRecord, readDiskLog } from '#test/power-loss/disk/disk-log';
import { recordingVariables } from '#test/power-loss/disk/disk-recorder';
import { compilePreload, preloadLack } from '#test/power-loss/disk/preloaded-library';
import { RecordedDisk } from '#test/power-loss/disk/recorded-disk';
import { drawSurvival, SYNCED_ONLY } from '#test/power-loss/luck';
import { lastTransactionOf } from '#test/power-loss/small-database';
import { suiteUnless } from '#test/support/servers/real-servers';

const WRITER = 'test/power-loss/small-writer.ts';

/** Transactions per writer. A second writer recovers the file of the first. */
const TRANSACTIONS = 200;

/** Number of images. */
const CUTS = 150;

/** Records and commits of the writers. */
type Written = {
  readonly records: readonly DiskRecord[];
  readonly folder: string;
  /** Committed transactions, with the monotonic time of the commit in nanoseconds. */
  readonly committed: readonly { readonly number: number; readonly ns: bigint }[];
};

const suite = suiteUnless(preloadLack());
const seen = suite('the recorded writes of a SQLite file');
const survived = suite('the possible contents of a SQLite file after power loss');

let place = '';
let library = '';
let safe: Written;

seen.before(async () => {
  place = await mkdtemp(join(tmpdir(), 'power-loss-'));
  library = await compilePreload(place, 'disk-recorder');
  safe = await written('safe', 'FULL');
});

survived.after(async () => {
  await rm(place, { recursive: true, force: true });
});

/** Runs two writers on one file, each until its kill -9. */
async function written(name: string, synchronous: string): Promise<Written> {
  const folder = await mkdtemp(join(place, `${name}-`));
  const log = join(place, `${name}.log`);
  const env = await recordingVariables(library, folder, log);
  let output = '';
  for (const first of [1, TRANSACTIONS + 1]) {
    const args = [WRITER, join(folder, 'small.db'), `${first}`, `${TRANSACTIONS}`, synchronous];
    const onOutput = (text: string) => (output += text);
    await runProgram({ program: process.execPath, args, msMax: 60_000, env, onOutput });
  }
  const committed = [...output.matchAll(/^(\d+) (\d+)$/gm)].map(([, number, ns]) => ({
    number: Number(number),
    ns: BigInt(ns ?? 0),
  }));
  assert.is(committed.length, 2 * TRANSACTIONS, output);
  return { records: await readDiskLog(log), folder, committed };
}

/** Checks images at random times. Every third image has only synced data. */
async function problemsOf({ records, committed }: Written, seed: number): Promise<string[]> {
  const chance = new Chance(seed);
  const disk = new RecordedDisk();
  const cuts = Array.from({ length: CUTS }, () => chance.pick(committed)?.ns ?? 0n);
  const problems: string[] = [];
  let taken = 0;
  for (const [image, cut] of cuts.toSorted((left, right) => Number(left - right)).entries()) {
    for (let next = records[taken]; next !== undefined && next.ns <= cut; next = records[taken]) {
      disk.take(next);
      taken += 1;
    }
    const survival = image % 3 === 0 ? SYNCED_ONLY : drawSurvival(chance);
    const folder = await writeImage(place, disk.survivors(chance, survival));
    const least = committed.findLast(({ ns }) => ns <= cut)?.number ?? 0;
    try {
      const last = lastTransactionOf(join(folder, 'small.db'));
      if (last < least) problems.push(`only ${last} of ${least} committed transactions are stored`);
      if (last > least + 1) problems.push(`${last} transactions are stored, ${least} committed`);
    } catch (error) {
      problems.push(`${error}`);
    }
    await rm(folder, { recursive: true });
  }
  return problems;
}

seen('reproduce the actual files byte for byte', async () => {
  const disk = new RecordedDisk();
  for (const record of safe.records) disk.take(record);
  const names = (await readdir(safe.folder)).filter((name) => !name.endsWith('-shm')).sort();
  assert.equal(names, ['small.db', 'small.db-wal']);
  const contents = disk.contents;
  assert.is(contents.size, names.length);
  for (const name of names) {
    const real = await readFile(join(safe.folder, name));
    const found = [...contents].find(([path]) => path.endsWith(`/${name}`))?.[1];
    assert.ok(found?.equals(real), `${name}: ${found?.length} of ${real.length} bytes`);
  }
});

seen('contain every kind of change', () => {
  const kinds = new Set(safe.records.map(({ kind }) => kind));
  for (const kind of ['opened', 'written', 'truncated', 'sync_begun', 'sync_ended'] as const) {
    assert.ok(kinds.has(kind), kind);
  }
});

survived('include every committed transaction and no partial transaction', async () => {
  assert.equal(await problemsOf(safe, 1), []);
});

survived('lack transactions if the writer does not sync', async () => {
  const problems = await problemsOf(await written('hasty', 'OFF'), 2);
  assert.ok(problems.length > CUTS / 10, `${problems.length} images of ${CUTS}`);
});

survived('lack transactions if the writer syncs only at checkpoints', async () => {
  const problems = await problemsOf(await written('lazy', 'NORMAL'), 3);
  assert.ok(problems.length > CUTS / 10, `${problems.length} images of ${CUTS}`);
  assert.ok(
    problems.every((problem) => problem.includes('committed')),
    'some image holds a partial transaction',
  );
});

seen.run();
survived.run();
