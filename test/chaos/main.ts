import { mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { endLeftovers } from '#deploy/local/processes/leftovers';
import { stopRecordedServer } from '#deploy/local/servers/server-record';
import { runChaos } from '#test/chaos/chaos-run';
import { countText, percent } from '#test/chaos/checks/quota';
import { FAULTS } from '#test/chaos/faults/faults';
import { QUOTA_DEMAND, type QuotaResult, runQuota } from '#test/chaos/load/quota-run';
import { type Phase, phasesOf } from '#test/chaos/phases';
import { headText, phasePart, type ReportPart, reportText } from '#test/chaos/report';
import { secondsOf } from '#test/chaos/timeline';
import { timelinePicture } from '#test/chaos/timeline-picture';

/** Report section of a quota run. */
function quotaPart(result: QuotaResult): ReportPart {
  const { demand, committed, acknowledged, usage, check, log } = result;
  const { quota, clients, cyclesPerCall, cyclesPerSecond, cyclesWanted, shareMin } = demand;
  const again = log.calls.filter(({ tries }) => tries > 1);
  const longestMs = Math.max(0, ...again.map(({ startMs, endMs }) => endMs - startMs));
  const blocks = [
    '## Quota while limiters are killed',
    `${clients} clients together request ${countText(cyclesWanted)} cycles from one account: ${countText(cyclesPerSecond)} cycles per second, ` +
      `${cyclesPerCall} cycles per call. The account has a quota of ${countText(quota)} cycles. The test killed the limiter that owns ` +
      `the account ${result.kills} times. The clients must be able to use at least ${percent(shareMin)} of the quota, but never more than the quota.`,
    `The limiters charged ${countText(usage.cycles_used)} cycles. The engines stored ${countText(committed)} cycles (${percent(committed / quota)} of the quota) and ` +
      `acknowledged ${countText(acknowledged)} cycles, ${countText(usedPerSecond(result))} per second. At most ${countText(usage.cycles_lost)} charged cycles were lost in crashes, ` +
      `and ${countText(usage.cycles_expired)} in expired reservations. ${result.refusedClients} of ${clients} clients were refused because the quota was used up. ` +
      `${countText(check.calls.unknown)} calls have an unknown outcome. ${countText(again.length)} calls were first refused because no limiter was ` +
      `available. The clients retried these calls for at most ${(longestMs / 1_000).toFixed(1)} s.`,
  ];
  return { name: 'quota', findings: check.findings, text: `${blocks.join('\n\n')}\n` };
}

/** Acknowledged cycles per second until the quota is used up, or until the end of the run. */
function usedPerSecond({ acknowledged, load }: QuotaResult): number {
  return perSecond(acknowledged, (load.usedUpMs ?? load.toMs) - load.fromMs);
}

function perSecond(cycles: number, ms: number): number {
  return Math.round((1_000 * cycles) / ms);
}

/*
 * Chaos test: injects faults into a real cluster under load, and checks in the stores that no
 * change was lost or applied twice. Then clients use up the quota of an account while the limiter
 * that owns the account is killed several times. A full run writes docs/chaos.md and its pictures.
 * `--only kill-engine,kill-edge` runs some faults, `--only three-nodes` all faults that need three
 * Cassandra nodes, and `--only quota` the quota run; the report is then written beside the logs.
 * The exit status is 1 if a check has findings.
 */

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    /** Seconds of load before the first fault. */
    warm: { type: 'string', default: '150' },
    /** Seconds without a fault after each fault. */
    seconds: { type: 'string', default: '10' },
    rate: { type: 'string', default: '150' },
    instances: { type: 'string', default: '500' },
    accounts: { type: 'string', default: '4' },
    seed: { type: 'string', default: '1' },
    port: { type: 'string', default: '23000' },
    folder: { type: 'string', default: join(tmpdir(), 'identity-engine-chaos') },
    help: { type: 'boolean', default: false },
  },
});

/** Name of the quota run, which is not a fault. */
const QUOTA = 'quota';
const QUOTA_TITLE = 'a quota of 100,000 cycles while its limiter is killed ten times (6 min)';

/** Name that selects all faults with three Cassandra nodes. */
const THREE_NODES = 'three-nodes';
const THREE_NODES_TITLE = 'all faults with three Cassandra nodes (8 min)';

const startedMs = performance.now();

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.exitCode = values.help ? help() : await run();

function help(): number {
  const threeNodes = { name: THREE_NODES, title: THREE_NODES_TITLE };
  const parts = [...FAULTS, threeNodes, { name: QUOTA, title: QUOTA_TITLE }];
  const width = Math.max(...parts.map(({ name }) => name.length)) + 2;
  const names = parts.map(({ name, title }) => `  ${name.padEnd(width)}${title}`);
  console.log(['--only takes these names, separated by commas:', ...names].join('\n'));
  return 0;
}

async function run(): Promise<number> {
  const known = [...FAULTS.map(({ name }) => name), QUOTA];
  const isWhole = values.only === '';
  const names = isWhole ? known : values.only.split(',').flatMap(partsOf);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    console.error(`unknown faults: ${unknown.join(', ')}; --help lists all names`);
    return 2;
  }
  const { folder } = values;
  await clear(folder);
  const target = isWhole ? 'docs' : folder;
  await mkdir(target, { recursive: true });
  const file = join(target, 'chaos.md');
  const head = headText({
    callsPerSecond: Number(values.rate),
    warmS: Number(values.warm),
  });
  const parts: ReportPart[] = [];
  const add = async (part: ReportPart): Promise<void> => {
    parts.push(part);
    // Write after every part, because the next part may fail.
    await writeFile(file, reportText(head, parts));
    console.log(`\n${part.text}`);
  };
  for (const phase of phasesOf(isWhole ? undefined : names)) {
    await add(await disturb(phase, target));
  }
  if (names.includes(QUOTA)) await add(await useUpQuota());
  console.log(`report: ${file}; logs: ${folder}`);
  return parts.some(({ findings }) => findings.count > 0) ? 1 : 0;
}

function partsOf(name: string): string[] {
  if (name !== THREE_NODES) return [name];
  return FAULTS.filter(({ isReplicated }) => isReplicated).map((fault) => fault.name);
}

/** Stops the processes of an earlier run and deletes their state. */
async function clear(folder: string): Promise<void> {
  for (const { name } of phasesOf(undefined)) {
    await endLeftovers(join(folder, name, 'cluster'));
    await stopRecordedServer(join(folder, name, 'toxiproxy'));
    await rm(join(folder, name), { recursive: true, force: true });
  }
  await endLeftovers(join(folder, 'quota'));
  await rm(join(folder, 'quota'), { recursive: true, force: true });
}

/** Runs a phase and draws its timeline. */
async function disturb(phase: Phase, target: string): Promise<ReportPart> {
  const { name, faults, limiterTimeoutMs, cassandraNodes } = phase;
  print(phase.title);
  const result = await runChaos({
    folder: join(values.folder, name),
    ports: Number(values.port),
    faults,
    limiterTimeoutMs,
    cassandraNodes,
    warmS: Number(values.warm),
    quietS: Number(values.seconds),
    callsPerSecond: Number(values.rate),
    instances: Number(values.instances),
    accounts: Number(values.accounts),
    seed: Number(values.seed),
    print,
  });
  const { log, disturbances, fromMs, toMs } = result;
  const picture = timelinePicture(secondsOf(log.calls, fromMs, toMs), disturbances, fromMs);
  await writeFile(join(target, `${name}.svg`), picture);
  return phasePart(result, phase, `${name}.svg`);
}

async function useUpQuota(): Promise<ReportPart> {
  const place = { folder: values.folder, ports: Number(values.port), print };
  return quotaPart(await runQuota(place, QUOTA_DEMAND));
}

function print(line: string): void {
  const seconds = (performance.now() - startedMs) / 1_000;
  console.log(`${seconds.toFixed(1).padStart(7)} s  ${line}`);
}
