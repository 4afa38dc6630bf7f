import { cp, mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newAccount } from '#deploy/local/new-account';
import { callerOf } from '#test/chaos/load/edge-caller';
import { type BackedCluster, openBackedCluster } from '#test/restore/backed-cluster';
import { foldersOf, numbersOf, type Place, runScript } from '#test/restore/backed-nodes';
import { type Recorded, RecordedLoad, sumOf } from '#test/restore/recorded-load';
import { type Looked, lookAt } from '#test/restore/restored-cluster';
import type { Written } from '#test/restore/written';

/** Load of a rehearsal. */
export type Size = {
  readonly instances: number;
  readonly workers: number;
  /** Seconds of load until the snapshot, from there to the mark, and from there to the crash. */
  readonly seconds: { readonly first: number; readonly second: number; readonly third: number };
  /** Monthly cycles of the account that exhausts its quota after the restore. */
  readonly quota: number;
};

/** Result of a rehearsal. */
export type Rehearsal = Looked & {
  readonly written: Written;
  /** Seconds from Cassandra's start to the first answer. */
  readonly seconds: number;
  /** Commit log segments that the first node replays: from the archive, and from the mark. */
  readonly segments: { readonly archived: number; readonly marked: number };
};

const SNAPSHOT = 'rehearsal';

/** Maximum time for which calls are refused after a mark, in milliseconds. */
const SERVED_MS_MAX = 60_000;

/** Maximum time to fill a log segment on a busy machine, in milliseconds. */
const SEGMENT_MS_MAX = 60_000;

/**
 * Runs a rehearsal: writes, takes a snapshot, writes, marks a restore point under load, writes,
 * kills every process, restores to the mark, and exhausts a quota. Rejects if a step fails.
 */
export async function rehearse(place: Place, size: Size): Promise<Rehearsal> {
  const first = await openBackedCluster(place, 1, false);
  const written = await writeAndMark(first, size, place).finally(() => first.killAll());
  await written.busy.stop();
  place.print(`killed all processes; restoring to ${written.marks}`);
  const segments = await putBack(place, written.marks);
  const startedMs = performance.now();
  await using second = await openBackedCluster(place, 2, true);
  const seconds = (performance.now() - startedMs) / 1_000;
  return { written, seconds, segments, ...(await lookAt(second, written, place.print)) };
}

async function writeAndMark(backed: BackedCluster, size: Size, place: Place): Promise<Written> {
  const { print } = place;
  const { instances, workers, seconds, quota } = size;
  const { adminUrl } = backed.cluster.plan;
  const caller = callerOf(backed.cluster.plan);
  const limits = { requests_per_minute: 1_000_000, cycles_per_month: 1_000_000_000 };
  const busyAccount = await newAccount(adminUrl, 'busy', limits);
  const account = await newAccount(adminUrl, 'bound', { ...limits, cycles_per_month: quota });
  const busy = new RecordedLoad(caller, busyAccount.apiKey);
  const bound = new RecordedLoad(caller, account.apiKey);
  for (let made = 0; made < instances; made += 1) await busy.create();
  const [counted, spare] = [await bound.create(), await bound.create()];
  busy.start(workers);
  await sleep(seconds.first * 1_000);
  const atSnapshot = sumOf(busy.counts()).acknowledged;
  print(`taking a snapshot after ${atSnapshot} observations, under load`);
  await backed.nodes.snapshot(SNAPSHOT);
  await sleep(seconds.second * 1_000);
  await untilArchived(foldersOf(place, 1, 1).archive);
  await observeTimes(bound, counted, quota / 2);
  const early = { at: spare.sent, ...(await bound.observe(spare, 'early')) };
  const chargedBefore = sumOf(bound.counts()).acknowledged;
  const before = busy.counts();
  const marks = await backed.nodes.mark();
  const after = busy.counts();
  print(`marked ${marks}; ${sumOf(before).acknowledged} observations acknowledged before the mark`);
  await observeTimes(bound, counted, quota / 4);
  const late = { at: spare.sent, ...(await bound.observe(spare, 'late')) };
  await sleep(seconds.third * 1_000);
  const { acknowledged } = sumOf(busy.counts());
  const keyed = { early, late };
  const accounts = { busy, bound, boundAccount: account.accountId, quota, chargedBefore };
  return { marks, atSnapshot, before, after, acknowledged, ...accounts, keyed, spare };
}

/** Waits until the archive has a segment, so that a restore needs the archive. */
async function untilArchived(archive: string): Promise<void> {
  const endMs = performance.now() + SEGMENT_MS_MAX;
  while ((await segmentsIn(archive)) === 0) {
    if (performance.now() > endMs) throw new Error(`${archive}: no segment was archived`);
    await sleep(500);
  }
}

async function segmentsIn(folder: string): Promise<number> {
  const names = await readdir(folder);
  return names.filter((name) => name.startsWith('CommitLog-')).length;
}

/** Observes an instance `times` times. Retries refusals during a mark. */
async function observeTimes(load: RecordedLoad, instance: Recorded, times: number): Promise<void> {
  const endMs = performance.now() + SERVED_MS_MAX;
  for (let done = 0; done < times; ) {
    const { status } = await load.observe(instance);
    if (status === 200) done += 1;
    else if (status !== 503 || performance.now() > endMs) {
      throw new Error(`an observation got status ${status}`);
    }
  }
}

/** Copies the snapshots to the next data folders, and collects the segments for replay. */
async function putBack(place: Place, marks: readonly string[]): Promise<Rehearsal['segments']> {
  for (const node of numbersOf(place)) {
    const { archive, snapshots } = foldersOf(place, 1, node);
    const { data, replay } = foldersOf(place, 2, node);
    await mkdir(dirname(data), { recursive: true });
    await cp(join(snapshots, SNAPSHOT), data, { recursive: true });
    await runScript('collect-log.sh', archive, marks[node - 1] ?? '', replay);
  }
  const marked = await segmentsIn(join(foldersOf(place, 1, 1).archive, 'marks', marks[0] ?? ''));
  return { archived: (await segmentsIn(foldersOf(place, 2, 1).replay)) - marked, marked };
}
