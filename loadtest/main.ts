import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { CtlError } from '#ctl/command';
import { installedK6 } from '#deploy/local/install/k6';
import { MissingServer } from '#deploy/local/install/missing-server';
import { circumstancesOf, loadText } from '#loadtest/circumstances';
import { demandOf, fitToPlan } from '#loadtest/fit';
import { type Demand, PROFILES, type ProfileName, phasesOf } from '#loadtest/k6/profile';
import { killPhaseOf, type SloScope } from '#loadtest/k6/slo';
import { textSummary } from '#loadtest/k6/text-summary';
import { verdictOf } from '#loadtest/k6/verdict';
import { FILES } from '#loadtest/k6-run';
import { BadRequest, type Options, readOptions } from '#loadtest/options';
import { remoteWriteTo } from '#loadtest/remote-write';
import { openRunAccounts, type RunAccounts } from '#loadtest/run-accounts';
import { sendLoad } from '#loadtest/sent-load';
import { findTarget, lookAtPlan, type PlanLeft, type Target } from '#loadtest/target';

/**
 * Creates the folder of a run in the folder `given`; by default, in the user's state folder. The
 * name of the new folder consists of time and profile.
 */
async function openResultsFolder(
  given: string | undefined,
  name: ProfileName,
  now: Date,
): Promise<string> {
  const stamp = now.toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '');
  const folder = join(parentOf(given), `${stamp}-${name}`);
  await mkdir(folder, { recursive: true });
  return folder;
}

function parentOf(given: string | undefined): string {
  if (given !== undefined) return resolve(given);
  const state = process.env['XDG_STATE_HOME'] ?? '';
  const root = state === '' ? join(homedir(), '.local/state') : state;
  return join(root, 'identity-engine/load');
}

/*
 * Runs a load profile against the local cluster or another address, and writes the results.
 * Variables: PROFILE, RATE, DURATION, BASE_URL, API_KEY, PROMETHEUS_URL, RESULTS. Exit status 1: an
 * objective is broken or the run is void. Exit status 2: the run could not start.
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
    throw new BadRequest(`${options.name} kills an engine of \`make cluster\`: unset BASE_URL`);
  }
  const plan = await lookAtPlan(target);
  const { prometheusUrl } = options;
  const remoteWrite = prometheusUrl === undefined ? {} : await remoteWriteTo(prometheusUrl);
  const program = await installedK6(print);
  const { cluster } = target;
  const { demand, notes } =
    cluster === undefined ? fitToPlan(wanted, plan) : { demand: wanted, notes: [] };
  for (const note of notes) print(note);
  await using accounts =
    cluster === undefined ? undefined : await openRunAccounts(cluster.adminUrl, demand);
  const keys = accounts?.keys ?? [target.apiKey];
  const scope = scopeOf(demand, plan, accounts?.limits);
  const circumstances = circumstancesOf(demand, { target, scope, plan, keys, notes });
  const folder = await openResultsFolder(options.resultsFolder, options.name, new Date());
  print(`${options.name}: ${loadText(demand)} to ${target.baseUrl}`);
  const variables = { ...variablesOf(target, demand, scope, keys), ...remoteWrite };
  const sent = await sendLoad({ program, folder, variables }, target, { demand, print });
  const { metrics, faults, events, usage, readings } = sent;
  const hasOwnAccounts = accounts !== undefined;
  const verdict = verdictOf(scope, metrics, { faults, hasOwnAccounts, readings });
  const known = { circumstances: [...circumstances, ...events], usage };
  const text = textSummary({ scope, metrics, verdict, ...known });
  await writeFile(join(folder, 'summary.md'), text);
  process.stdout.write(`\n${text}\n`);
  print(`wrote summary.md, ${Object.values(FILES).join(', ')} to ${folder}`);
  return verdict.outcome === 'kept' ? 0 : 1;
}

/** Scope of the objectives. `limits` are limits of created accounts; default: the key's plan. */
function scopeOf(
  demand: Demand,
  plan: PlanLeft,
  limits: RunAccounts['limits'] | undefined,
): SloScope {
  const { name, seconds } = demand;
  const phases = phasesOf(demand);
  if (PROFILES[name].load !== 'limits') return { name, phases };
  const windows = Math.ceil(seconds / 60) + 1;
  const isAlone = limits !== undefined;
  const { requestsPerMinute, cyclesPerMonth } = limits ?? { ...plan, cyclesPerMonth: undefined };
  return { name, phases, limits: { requestsPerMinute, cyclesPerMonth, windows, isAlone } };
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

function print(line: string): void {
  const seconds = (performance.now() - startedMs) / 1_000;
  console.error(`${seconds.toFixed(1).padStart(7)} s  ${line}`);
}
