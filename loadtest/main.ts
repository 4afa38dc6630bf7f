import { writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { CtlError } from '#ctl/command';
import { freePort } from '#deploy/local/free-port';
import { installedK6 } from '#deploy/local/k6-install';
import { MissingServer } from '#deploy/local/missing-server';
import { demandOf, fitToPlan } from '#loadtest/fit';
import { FILES, runK6 } from '#loadtest/k6-run';
import { killAnEngine } from '#loadtest/kill-engine';
import { watchLoad } from '#loadtest/load-progress';
import { BadRequest, type Options, readOptions } from '#loadtest/options';
import { type Demand, instancesOf, PROFILES, phasesOf } from '#loadtest/profile';
import { remoteWriteTo } from '#loadtest/remote-write';
import { openResultsFolder } from '#loadtest/results-folder';
import { openRunAccounts } from '#loadtest/run-accounts';
import { killPhaseOf, type SloScope } from '#loadtest/slo';
import { findTarget, lookAtPlan, type PlanLeft, type Target } from '#loadtest/target';
import { textSummary } from '#loadtest/text-summary';
import { type Verdict, verdictOf } from '#loadtest/verdict';

/*
 * Runs a load profile against the cluster of this machine or any address, and writes what it showed.
 * Everything comes in variables: PROFILE, RATE, DURATION, BASE_URL, API_KEY, PROMETHEUS_URL, RESULTS.
 * Ends with status 1 when an objective is broken or the run is void, with 2 when it could not begin.
 */

const startedMs = performance.now();

try {
  process.exitCode = await run(readOptions(process.env));
} catch (error) {
  const isExpected =
    error instanceof BadRequest || error instanceof MissingServer || error instanceof CtlError;
  console.error(`load: ${isExpected ? error.message : ((error as Error).stack ?? error)}`);
  process.exitCode = 2;
}

async function run(options: Options): Promise<number> {
  const target = findTarget(options);
  const wanted = demandOf(options.name, options);
  if (killPhaseOf(options.name) !== undefined && target.cluster === undefined) {
    throw new BadRequest(`${options.name} kills an engine, which it can only of \`make cluster\``);
  }
  const plan = await lookAtPlan(target);
  const { prometheusUrl } = options;
  const remoteWrite = prometheusUrl === undefined ? {} : await remoteWriteTo(prometheusUrl);
  const program = await installedK6(print);
  const own = target.cluster;
  const fitted = own === undefined ? fitToPlan(wanted, plan) : { demand: wanted, notes: [] };
  for (const note of fitted.notes) print(note);
  await using accounts =
    own === undefined ? undefined : await openRunAccounts(own.adminUrl, fitted.demand);
  const keys = accounts?.keys ?? [target.apiKey];
  const scope = scopeOf(fitted.demand, plan, accounts?.limits);
  const folder = await openResultsFolder(options.resultsFolder, options.name, new Date());
  const circumstances = circumstancesOf(target, scope, fitted.demand, {
    plan,
    keys,
    notes: fitted.notes,
  });
  print(`${options.name}: ${loadText(fitted.demand)} to ${target.baseUrl}`);
  const variables = { ...variablesOf(target, fitted.demand, scope, keys), ...remoteWrite };
  const { result, events } = await send({ program, folder, variables }, target, fitted.demand);
  const { metrics, faults } = result;
  const verdict = verdictOf(scope, metrics, { faults, hasOwnAccounts: accounts !== undefined });
  const all = [...circumstances, ...events];
  const text = textSummary({ scope, metrics, verdict, circumstances: all });
  await writeFile(join(folder, 'summary.md'), text);
  process.stdout.write(`\n${text}\n`);
  print(`written to ${folder}: summary.md, ${Object.values(FILES).join(', ')}`);
  return exitCodeOf(verdict);
}

function exitCodeOf({ outcome }: Verdict): number {
  return outcome === 'kept' ? 0 : 1;
}

type Named = readonly (readonly [string, string])[];

/** Runs k6, says how far it is, and does what the profile does to the cluster meanwhile. */
async function send(
  k6: { program: string; folder: string; variables: Record<string, string> },
  { cluster }: Target,
  demand: Demand,
) {
  const address = `127.0.0.1:${await freePort()}`;
  const events: (readonly [string, string])[] = [];
  const phase = killPhaseOf(demand.name);
  const act = (): void => {
    if (cluster === undefined) return;
    const victim = killAnEngine(cluster);
    const second = `at the beginning of ${phase}`;
    events.push(['Killed', `${victim}, ${second}`]);
    print(`killed ${victim}`);
  };
  const at = phase === undefined ? undefined : { phase, act };
  using clock = watchLoad({ demand, address, print, at });
  const onBegin = (): void => clock.begin();
  const onEnd = (): void => clock.end();
  const result = await runK6({ ...k6, address, print, onBegin, onEnd });
  // A run in which nothing was disturbed shows nothing about a disturbance.
  const isMissing = phase !== undefined && events.length === 0;
  const faults = isMissing ? [...result.faults, 'no engine was killed'] : result.faults;
  return { result: { ...result, faults }, events: events as Named };
}

/** `limits`: of the accounts that were made; without them the plan of the key is the minute's. */
function scopeOf(
  demand: Demand,
  plan: PlanLeft,
  limits: { requestsPerMinute: number; cyclesPerMonth: number } | undefined,
): SloScope {
  const phases = phasesOf(demand);
  if (PROFILES[demand.name].load !== 'limits') return { name: demand.name, phases };
  const windows = Math.ceil(demand.seconds / 60) + 1;
  const allowed = limits ?? { ...plan, cyclesPerMonth: undefined };
  const { requestsPerMinute, cyclesPerMonth } = allowed;
  const isAlone = limits !== undefined;
  return {
    name: demand.name,
    phases,
    limits: { requestsPerMinute, cyclesPerMonth, windows, isAlone },
  };
}

function variablesOf(
  { baseUrl }: Target,
  { name, perS, seconds }: Demand,
  { limits }: SloScope,
  keys: readonly string[],
): Record<string, string> {
  const shared = { PROFILE: name, RATE: `${perS}`, SECONDS: `${seconds}`, BASE_URL: baseUrl };
  const cycles = limits?.cyclesPerMonth;
  return {
    ...shared,
    API_KEY: keys.join(','),
    ...(limits === undefined ? {} : { REQUESTS_PER_MINUTE: `${limits.requestsPerMinute}` }),
    ...(cycles === undefined ? {} : { CYCLES_PER_MONTH: `${cycles}` }),
    OWN_ACCOUNTS: `${limits?.isAlone === true}`,
  };
}

function circumstancesOf(
  { baseUrl, cluster }: Target,
  { limits }: SloScope,
  demand: Demand,
  { plan, keys, notes }: { plan: PlanLeft; keys: readonly string[]; notes: readonly string[] },
): Named {
  const given = ['PROFILE', 'RATE', 'DURATION', 'BASE_URL'].flatMap((name) => {
    const value = process.env[name] ?? '';
    return value === '' ? [] : [`${name}=${value}`];
  });
  const accounts =
    cluster === undefined
      ? `the key's own, plan ${plan.name}, ${plan.requestsPerMinute} requests a minute`
      : `${keys.length} of the run's own`;
  const [cpu] = cpus();
  const load = loadavg().map((value) => value.toFixed(1));
  return [
    ['Command', `\`make load ${given.join(' ')}\``],
    ['Began', new Date().toISOString()],
    ['Target', `${baseUrl}${cluster === undefined ? '' : ' (`make cluster`)'}`],
    ['Load', `${loadText(demand)}, ${instancesOf(demand)} instances`],
    ['Accounts', accounts],
    ...(limits === undefined ? [] : [['Plan', planText(limits)] as const]),
    ['Machine', `${availableParallelism()} of ${cpus().length} × ${cpu?.model.trim()}`],
    ['Load of the machine before', load.join(' ')],
    ...notes.map((note) => ['Lowered', note] as const),
  ];
}

function planText({ requestsPerMinute, cyclesPerMonth }: NonNullable<SloScope['limits']>): string {
  const month = cyclesPerMonth === undefined ? '' : `; ${cyclesPerMonth} cycles a month`;
  return `${requestsPerMinute} requests a minute${month}`;
}

function loadText({ perS, seconds }: Demand): string {
  return `RATE ${perS}/s for ${Math.round(seconds)} s`;
}

function print(line: string): void {
  const seconds = (performance.now() - startedMs) / 1_000;
  console.error(`${seconds.toFixed(1).padStart(7)} s  ${line}`);
}
