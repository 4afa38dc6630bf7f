import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { parseApiKey } from '#accounts/api-key';
import { table } from '#ctl/printed-text';
import { type ClusterPlan, clusterPlan } from '#deploy/local/cluster-plan';
import { readCluster, supervisorFolder } from '#deploy/local/cluster-record';
import { clusterSecretFile, readSecrets } from '#deploy/local/cluster-secrets';
import { startCluster, stopCluster } from '#deploy/local/cluster-start';
import { type ProcessStatus, processStatuses } from '#deploy/local/processes/process-status';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { ctlVariables, environmentOf, MAIN } from '#deploy/local/processes/service-process';
import { cassandraNodesOf } from '#deploy/local/servers/cassandra-ring';
import { runningServer } from '#deploy/local/servers/server-record';
import { clusterFolder, wantedCluster } from '#deploy/local/state-folder';

/** Maximum time to create a link, in ms: a connection to Cassandra, and some writes. */
const LINK_MS_MAX = 60_000;

/**
 * Address for a browser: a new set-up link if the key's account has no owner, else the console. If
 * the link cannot be created, the text contains the reason.
 */
async function consoleEntry(plan: ClusterPlan, key: string): Promise<string> {
  const accountId = parseApiKey(key)?.accountId ?? '';
  const { isOk, output } = await runProgram({
    program: process.execPath,
    args: [MAIN, 'ctl', 'users', 'setup-link', accountId],
    env: environmentOf(ctlVariables(plan)),
    msMax: LINK_MS_MAX,
  });
  const said = lastLine(output);
  if (isOk) return said;
  return / has an owner/.test(said)
    ? plan.consoleAddress
    : `${plan.consoleAddress}   (no set-up link: ${said})`;
}

/*
 * Starts, shows and stops the cluster on this machine, for `make`.
 *
 * Usage: node deploy/local/cluster.ts up [--cassandra 1|3] | down | status [--json] | ctl …
 */

const USAGE = 'usage: cluster.ts up [--cassandra 1|3] | down | status [--json] | ctl …';

const out = (text: string): void => void process.stdout.write(`${text}\n`);

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`cluster: ${(error as Error).message}\n`);
  process.exitCode = 1;
}

async function run([command = '', ...rest]: readonly string[]): Promise<number> {
  const folder = clusterFolder();
  if (command === 'up') {
    const { values } = parseArgs({ args: rest, options: { cassandra: { type: 'string' } } });
    return up(folder, values.cassandra);
  }
  if (command === 'down' && rest.length === 0) return down(folder);
  if (command === 'ctl') return ctl(folder, rest);
  if (command === 'status') {
    const { values } = parseArgs({ args: rest, options: { json: { type: 'boolean' } } });
    return status(folder, values.json === true);
  }
  throw new Error(USAGE);
}

/**
 * Starts the cluster. `wanted` is the number of Cassandra nodes; by default as in the folder's
 * data, else 1.
 */
async function up(folder: string, wanted: string | undefined): Promise<number> {
  const cassandraNodes = wanted === undefined ? cassandraNodesOf(folder) : Number(wanted);
  await startCluster({ ...wantedCluster(), cassandraNodes }, out).catch((error: Error) => {
    const isTaken = /port \d+ .*is taken/.test(error.message);
    const hint = isTaken ? '; set CLUSTER_PORT to another block of ports' : '';
    throw new Error(`${error.message}${hint}`);
  });
  const key = readSecrets(folder)?.apiKey ?? '';
  const plan = planOf(folder);
  out(welcome(plan, key, await consoleEntry(plan, key)));
  return 0;
}

async function down(folder: string): Promise<number> {
  out((await stopCluster(folder)) ? 'the cluster has stopped' : 'no cluster runs');
  out(`state is kept in ${folder}`);
  return 0;
}

/** Prints the status. The exit code is 0 if every process is ready. */
async function status(folder: string, isJson: boolean): Promise<number> {
  const restarts = readCluster(folder)?.restarts ?? {};
  const statuses = await processStatuses(planOf(folder), (name) => restarts[name] ?? 0);
  const supervisor = runningServer(supervisorFolder(folder));
  const all: ProcessStatus[] = [
    ...statuses,
    {
      name: 'supervisor',
      pid: supervisor?.pid,
      upSince: supervisor?.startedAt,
      restarts: 0,
      address: '',
      isReady: supervisor !== undefined,
    },
  ];
  out(isJson ? JSON.stringify(all.map(viewOf), undefined, 2) : tableOf(all));
  return all.every(({ isReady }) => isReady) ? 0 : 1;
}

/** Runs `main.ts ctl` with this cluster's variables. */
async function ctl(folder: string, args: readonly string[]): Promise<number> {
  const file = clusterSecretFile(folder);
  if (!existsSync(file)) throw new Error(`${folder} has no cluster yet: run make cluster`);
  const env = environmentOf(ctlVariables(planOf(folder)));
  const child = spawn(process.execPath, [MAIN, 'ctl', ...args], { env, stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  return code ?? 1;
}

/** Plan of the folder's cluster, running or not. */
function planOf(folder: string): ClusterPlan {
  return clusterPlan(readCluster(folder)?.size ?? wantedCluster());
}

function viewOf({ name, pid, upSince, restarts, address, isReady }: ProcessStatus) {
  const up = { pid: pid ?? null, up_since: upSince ?? null };
  return { name, ...up, restarts, address, is_ready: isReady };
}

function tableOf(statuses: readonly ProcessStatus[]): string {
  const headings = ['PROCESS', 'PID', 'UP SINCE', 'RESTARTS', 'ADDRESS', 'READY'];
  const rows = statuses.map(({ name, pid, upSince, restarts, address, isReady }) => {
    const up = [String(pid ?? '-'), upSince?.replace(/\.\d+Z$/, 'Z') ?? '-'];
    return [name, ...up, String(restarts), address, isReady ? 'yes' : 'no'];
  });
  return table(headings, rows);
}

/** Text for people when the cluster is ready: addresses and next commands. */
function welcome(plan: ClusterPlan, key: string, entry: string): string {
  const { address, adminUrl, folder, logFolder, processes } = plan;
  const count = (kind: string) => processes.filter((planned) => planned.kind === kind).length;
  const inner = `${count('limiter')} limiters, ${count('courier')} couriers`;
  const nodes = `${inner}, ${count('engine')} engines`;
  const parts = `${count('edge')} edges, ${nodes}, ${count('console')} consoles`;
  const cassandras = count('cassandra') > 1 ? `${count('cassandra')} Cassandra nodes` : 'Cassandra';
  return [
    `The cluster is ready: ${parts}, NATS and ${cassandras}. Data is kept between runs.`,
    '',
    `  API      ${address}/v1`,
    `  Docs     ${address}/docs   ${address}/redoc   ${address}/openapi.json`,
    `  API key  ${key}`,
    `  Console  ${entry}`,
    `  Cluster  ${adminUrl}/cluster`,
    `  Logs     ${logFolder}`,
    `  State    ${folder}`,
    '',
    'Create an instance:',
    '',
    `  curl -s ${address}/v1/instances -H 'Authorization: Bearer ${key}' \\`,
    `    -H 'Content-Type: application/json' -d '{"name":"Ada"}'`,
    '',
    'Check, administer and stop the cluster:',
    '',
    '  make cluster-status',
    '  make cluster-ctl ARGS="nodes"',
    '  make cluster-down',
    '',
  ].join('\n');
}
