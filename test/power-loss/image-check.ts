import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Chance } from '#test/chaos/chance';
import { callsAt } from '#test/power-loss/calls-at';
import { FileServer } from '#test/power-loss/file-server';
import { drawnLuck, WORST_LUCK } from '#test/power-loss/luck';
import { RecordedDisk } from '#test/power-loss/recorded-disk';
import { FILE_NAME, type RecordedRun } from '#test/power-loss/recorded-run';
import { checkSurvivor } from '#test/power-loss/survivor-check';

/** Which images of a run are made. */
export type Cuts = {
  readonly count: number;
  readonly seed: number;
  /** How much later callers ask for what they were answered; 0 unless a test lies. Milliseconds. */
  readonly lateMs?: number;
};

/** What the images of a run came to. */
export type ImagesResult = {
  readonly images: number;
  /** Observations that were found in all of them, and heads that follow from their rows. */
  readonly observations: number;
  readonly verified: number;
  /** One line for each thing that is wrong, with the moment of its image. */
  readonly findings: readonly string[];
};

/** Each so many images hold nothing but what was synced. */
const WORST_EVERY = 3;

/**
 * Makes images of what the disk of a recorded run may hold after power loss at random moments, every
 * second one that of an acknowledgement, and checks each against what callers knew by then.
 */
export async function checkImages(
  place: string,
  run: RecordedRun,
  { count, seed, lateMs = 0 }: Cuts,
): Promise<ImagesResult> {
  const chance = new Chance(seed);
  const disk = new RecordedDisk();
  const findings: string[] = [];
  await using server = new FileServer();
  let [taken, observations, verified] = [0, 0, 0];
  for (const [number, atMs] of momentsOf(run, chance, count).entries()) {
    const atNs = run.offsetNs + BigInt(Math.round(atMs * 1e6));
    for (let next = run.records[taken]; next !== undefined && next.ns <= atNs; ) {
      disk.take(next);
      taken += 1;
      next = run.records[taken];
    }
    const folder = await mkdtemp(join(place, 'image-'));
    const luck = number % WORST_EVERY === 0 ? WORST_LUCK : drawnLuck(chance);
    await disk.writeSurvivors(folder, chance, luck);
    const known = atMs + lateMs;
    const accounts = run.accounts.filter(({ madeMs }) => madeMs <= known);
    const claim = { file: join(folder, FILE_NAME), calls: callsAt(run.calls, known), accounts };
    const where = `image ${number} at ${(atMs - run.fromMs).toFixed(3)} ms, ${JSON.stringify(luck)}`;
    try {
      const check = await checkSurvivor(server, claim);
      observations += check.observations;
      verified += check.verified;
      findings.push(...check.findings.lines.map((line) => `${where}: ${line}`));
    } catch (error) {
      findings.push(`${where}: ${error instanceof Error ? error.message : error}`);
    }
    await rm(folder, { recursive: true });
  }
  return { images: count, observations, verified, findings };
}

/** Half of them at any moment of the run, half when a caller had just been answered a change. */
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
