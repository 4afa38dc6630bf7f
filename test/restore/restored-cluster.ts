import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { storedRows, verifyHead } from '#ctl/verify/heads';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import type { Print } from '#deploy/local/progress';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import { Findings } from '#test/chaos/checks/findings';
import { openClusterStores } from '#test/chaos/cluster-stores';
import { finalUsagesOf } from '#test/chaos/load/account-usage';
import { callerOf } from '#test/chaos/load/edge-caller';
import type { BackedCluster } from '#test/restore/backed-cluster';
import type { Written } from '#test/restore/written';

/** Lowest log level of a bug, a 500 or a crash. */
const ERROR_LEVEL = 50;

/** Error lines in the cluster's logs since `sinceMs`. */
function errorLines(logFolder: string, sinceMs: number): string[] {
  const files = globSync('*.log', { cwd: logFolder }).map((name) => join(logFolder, name));
  const lines = files.flatMap((path) => readFileSync(path, 'utf8').split('\n'));
  return lines.filter((line) => {
    // Skip lines of Cassandra and NATS.
    if (!line.startsWith('{"level":')) return false;
    const { level, time } = JSON.parse(line) as { readonly level: number; readonly time: string };
    return level >= ERROR_LEVEL && Date.parse(time) >= sinceMs;
  });
}

/** Result of checking a restored cluster. */
export type Looked = {
  readonly findings: Findings;
  /** Number of stored observations. */
  readonly observations: number;
  /** Number of instances whose replay gives the head. */
  readonly verified: number;
  /** Cycles charged to the account with a quota, as reported after the restore. */
  readonly charged: number;
  /** Cycles granted to this account after the restore. */
  readonly granted: number;
  /** Cycles of this account that are stored in total. */
  readonly stored: number;
};

/**
 * Number of instances that are also checked with the command `ctl verify`. The rehearsal calls the
 * code of the command for all instances.
 */
const SAMPLE = 5;

const CTL_MS_MAX = 60_000;
const READS_IN_FLIGHT = 8;

/** Compares a restored cluster with the callers' records, then exhausts the quota. */
export async function lookAt(
  backed: BackedCluster,
  written: Written,
  print: Print,
): Promise<Looked> {
  const { cluster } = backed;
  const findings = new Findings();
  using caller = callerOf(cluster.plan);
  for (const load of [written.busy, written.bound]) load.moveTo(caller);
  const observations = await lookAtCounts(written, findings);
  await lookAtKeys(written, findings);
  const [usage] = await finalUsagesOf(cluster.plan.adminUrl, [written.boundAccount]);
  const charged = usage?.cycles_used ?? 0;
  const quota = await useUp(written, charged, findings);
  print('stopping the service, which stores everything');
  await cluster[Symbol.asyncDispose]();
  for (const line of errorLines(cluster.plan.logFolder, backed.beganMs)) findings.add(line);
  const verified = await verifyAll(backed, written, findings);
  return { findings, observations, verified, charged, ...quota };
}

/**
 * Checks that the restore has all observations from before the mark, and no later observation.
 */
async function lookAtCounts(written: Written, findings: Findings): Promise<number> {
  const { busy, before, after } = written;
  let sum = 0;
  for (const instance of busy.instances) {
    const cycles = await busy.cyclesOf(instance);
    const least = before.get(instance.id)?.acknowledged ?? 0;
    const most = after.get(instance.id)?.sent ?? 0;
    if (cycles < least) findings.add(`${instance.id}: ${cycles} cycles, ${least} acknowledged`);
    if (cycles > most) findings.add(`${instance.id}: ${cycles} cycles, ${most} sent`);
    sum += cycles;
  }
  return sum;
}

/** Checks that idempotency keys from before the mark are known, and later keys are not. */
async function lookAtKeys({ bound, spare, keyed }: Written, findings: Findings): Promise<void> {
  const early = await bound.observeAt(spare.id, keyed.early.at, 'early');
  if (early.cycle !== keyed.early.cycle || (await bound.cyclesOf(spare)) !== 1) {
    findings.add(`a call from before the mark took effect twice: cycle ${early.cycle}`);
  }
  const late = await bound.observeAt(spare.id, keyed.late.at, 'late');
  if (late.status !== 200 || (await bound.cyclesOf(spare)) !== 2) {
    findings.add(`a call from after the mark got status ${late.status}`);
  }
}

/** Observes until the quota is exhausted, and checks the cycles before and after the restore. */
async function useUp(written: Written, charged: number, findings: Findings) {
  const { bound, quota, chargedBefore } = written;
  const [counted] = bound.instances;
  if (counted === undefined) throw new Error('there is no instance');
  if (charged < chargedBefore) findings.add(`${charged} cycles are charged, not ${chargedBefore}`);
  let granted = 1;
  for (;;) {
    const { status } = await bound.observe(counted);
    if (status === 429) break;
    if (status !== 200) throw new Error(`an observation got status ${status}`);
    granted += 1;
    if (granted > quota) break;
  }
  const all = await Promise.all(bound.instances.map((instance) => bound.cyclesOf(instance)));
  const stored = all.reduce((sum, cycles) => sum + cycles, 0);
  if (stored > quota) findings.add(`${stored} observations are stored of a quota of ${quota}`);
  return { granted, stored };
}

async function verifyAll(
  { cluster }: BackedCluster,
  { busy, bound }: Written,
  findings: Findings,
): Promise<number> {
  await using stores = await openClusterStores(cluster);
  let verified = 0;
  const all = [...bound.instances, ...busy.instances];
  await forEachConcurrently(all, READS_IN_FLIGHT, async ({ id }) => {
    const head = await stores.instances.readHead(id);
    if (head === undefined) return void findings.add(`${id} is not stored`);
    const { kind } = await verifyHead(head, storedRows(stores.instances, id, head));
    if (kind === 'same') verified += 1;
    else findings.add(`${id}: the replay result is ${kind}`);
  });
  for (const { id } of all.slice(0, SAMPLE)) {
    const { isOk, output } = await runProgram({
      program: process.execPath,
      args: ['services/main.ts', 'ctl', 'verify', id],
      env: cluster.plan.shared,
      msMax: CTL_MS_MAX,
    });
    if (!isOk) findings.add(`ctl verify ${id}: ${lastLine(output)}`);
  }
  return verified;
}
