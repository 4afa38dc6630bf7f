import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import { Chance } from '#test/chaos/faults/chance';
import { callsAt } from '#test/power-loss/calls-at';
import { writeImage } from '#test/power-loss/disk/disk-image';
import { RecordedDisk } from '#test/power-loss/disk/recorded-disk';
import { FileServer } from '#test/power-loss/file-server';
import { drawSurvival, SYNCED_ONLY } from '#test/power-loss/luck';
import { FILE_NAME, type RecordedRun } from '#test/power-loss/recorded-run';
import { checkSurvivor } from '#test/power-loss/survivor-check';

/** Number and seed of the images to check, and limits of the check. */
export type Cuts = {
  readonly count: number;
  readonly seed: number;
  /** Also checks calls that were answered up to this many ms later. These must cause findings. */
  readonly lateMs?: number;
  /** Time limit in milliseconds, after which no further image is checked. */
  readonly msMax?: number;
};

/** Result of checking a run's images. */
export type ImagesResult = {
  readonly images: number;
  /** Number of observations in all images. */
  readonly observations: number;
  /** Number of heads recomputed from their histories, in all images. */
  readonly verified: number;
  /** One line per finding, with the image and its time. */
  readonly findings: readonly string[];
};

/** Number of images checked at the same time. The start of a service mostly waits. */
const AT_ONCE = 2;

/** Images per round. */
const ROUND = 20;

/** Every third image contains only synced data. */
const WORST_EVERY = 3;

/**
 * Creates images of a run's disk after power losses at random times, and compares each image with
 * the answers that callers had received by then. Half of the power losses directly follow an
 * acknowledged change.
 */
export async function checkImages(
  place: string,
  run: RecordedRun,
  { count, seed, lateMs = 0, msMax = Number.POSITIVE_INFINITY }: Cuts,
): Promise<ImagesResult> {
  const chance = new Chance(seed);
  const deadlineMs = performance.now() + msMax;
  const result = { images: 0, observations: 0, verified: 0, findings: [] as string[] };
  await using servers = new AsyncDisposableStack();
  const free = Array.from({ length: AT_ONCE }, () => servers.use(new FileServer()));
  const check = async (recorded: RecordedImages, atMs: number): Promise<void> => {
    if (performance.now() > deadlineMs) return;
    const number = result.images++;
    const { files, survival } = recorded.at(number, atMs);
    const folder = await writeImage(place, files);
    const server = free.pop();
    assert(server !== undefined, 'no file server is free');
    const knownMs = atMs + lateMs;
    const accounts = run.accounts.filter(({ madeMs }) => madeMs <= knownMs);
    const claim = { file: join(folder, FILE_NAME), calls: callsAt(run.calls, knownMs), accounts };
    const where = `image ${number} at ${(atMs - run.fromMs).toFixed(3)} ms, ${JSON.stringify(survival)}`;
    try {
      const { findings, observations, verified } = await checkSurvivor(server, claim);
      result.observations += observations;
      result.verified += verified;
      result.findings.push(...findings.lines.map((line) => `${where}: ${line}`));
    } catch (error) {
      result.findings.push(`${where}: ${error instanceof Error ? error.message : error}`);
    }
    free.push(server);
    await rm(folder, { recursive: true });
  };
  // Each round covers the whole run. A time limit therefore leaves out no part of the run.
  for (let left = count; left > 0; left -= ROUND) {
    const recorded = new RecordedImages(run, chance);
    const moments = momentsOf(run, chance, Math.min(left, ROUND));
    await forEachConcurrently(moments, AT_ONCE, (atMs) => check(recorded, atMs));
  }
  return result;
}

/** Creates images of a run at ascending times. */
class RecordedImages {
  readonly #run: RecordedRun;
  readonly #chance: Chance;
  readonly #disk = new RecordedDisk();
  #taken = 0;

  constructor(run: RecordedRun, chance: Chance) {
    this.#run = run;
    this.#chance = chance;
  }

  /** Possible disk content after a power loss at a time in monotonic milliseconds. */
  at(number: number, atMs: number) {
    const { records, offsetNs } = this.#run;
    const atNs = offsetNs + BigInt(Math.round(atMs * 1e6));
    for (let next = records[this.#taken]; next !== undefined && next.ns <= atNs; ) {
      this.#disk.take(next);
      this.#taken += 1;
      next = records[this.#taken];
    }
    const survival = number % WORST_EVERY === 0 ? SYNCED_ONLY : drawSurvival(this.#chance);
    return { files: this.#disk.survivors(this.#chance, survival), survival };
  }
}

/** Sorted times of images: half are random, half directly follow an acknowledged change. */
function momentsOf(run: RecordedRun, chance: Chance, count: number): number[] {
  const { fromMs, toMs, calls } = run;
  const answered = calls.filter(
    ({ outcome, requested }) => outcome.kind === 'acknowledged' && requested.kind !== 'read',
  );
  const moments = Array.from({ length: count }, (_, place) =>
    place % 2 === 0
      ? fromMs + chance.next() * (toMs - fromMs)
      : (chance.pick(answered)?.endMs ?? toMs),
  );
  return moments.toSorted((left, right) => left - right);
}
