import { type Profiler, Session } from 'node:inspector/promises';
import { readConfig } from '#config';
import { freePort } from '#deploy/local/servers/free-port';
import { openEdge } from '#startup/edge';
import { openEngine } from '#startup/engine';
import { openLimiter } from '#startup/limiter';
import { openStandalone } from '#startup/standalone';
import { type Caller, newCaller } from '#test/support/calls/caller';
import { testVariables } from '#test/support/process-run';
import type { Service } from '#test/support/servers/service';

/*
 * Prints the `services` modules on the path of `POST /v1/instances/{id}/process`, as JSON. A module
 * is on the path if its code runs in every call. The script makes several calls, because timers run
 * only during some calls.
 *
 * Usage: node test/architecture/modules-of-a-call.ts memory
 *        node test/architecture/modules-of-a-call.ts cluster VARIABLES-AS-JSON
 *
 * All parts of a cluster run in this process and communicate over real servers and sockets.
 */

/** Number of calls. A module on the path runs in every call. */
const CALLS = 12;

/** Interval between the timestamps of observations, in milliseconds. */
const INTERVAL_MS = 1_100;

const [topology, given = '{}'] = process.argv.slice(2);
const [apiPort, adminPort] = [await freePort(), await freePort()];
const service = {
  api: `http://127.0.0.1:${apiPort}/v1`,
  adminUrl: `http://127.0.0.1:${adminPort}`,
} as Service;
const variables = {
  ...testVariables(),
  SERVICE_PORT: String(apiPort),
  SERVICE_ADMIN_PORT: String(adminPort),
  SERVICE_LOG_LEVEL: 'error',
  SERVICE_LIMITER_TIMEOUT_MS: '5000',
};

if (topology === 'memory') await openStandalone(readConfig(variables));
else await openCluster({ ...variables, ...JSON.parse(given) });
const modules = await modulesOf(await newCaller(service));
process.stdout.write(`\n${JSON.stringify(modules)}\n`, () => process.exit(0));

async function openCluster(of: NodeJS.ProcessEnv): Promise<void> {
  const { signal } = new AbortController();
  await openLimiter(readConfig({ ...of, SERVICE_LIMITER_LISTEN: '127.0.0.1:0' }), signal);
  const noAdmin = { ...of, SERVICE_ADMIN_PORT: '0' };
  await openEngine(readConfig({ ...noAdmin, SERVICE_ENGINE_LISTEN: '127.0.0.1:0' }), signal);
  await openEdge(readConfig(noAdmin), signal);
}

async function modulesOf(caller: Caller): Promise<string[]> {
  const created = await caller.send('POST', '/instances', { json: { name: 'Ada' } });
  const { id } = created.body.data;
  const call = async (n: number) => {
    const timestamp = new Date(Date.now() + n * INTERVAL_MS).toISOString();
    const json = { mode_target: 'ORDER', signal_strength: 0.4, timestamp };
    const { status, text } = await caller.send('POST', `/instances/${id}/process`, { json });
    if (status !== 200) throw new Error(text);
  };
  await call(0);
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true });
  let passed: Set<string> | undefined;
  for (let n = 1; n <= CALLS; n += 1) {
    await session.post('Profiler.takePreciseCoverage');
    await call(n);
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const run = new Set(result.filter(hasRun).map(({ url }) => url.split('/services/')[1] ?? ''));
    passed = passed === undefined ? run : passed.intersection(run);
  }
  return [...(passed ?? [])].sort();
}

function hasRun({ url, functions }: Profiler.ScriptCoverage): boolean {
  const isOurs = url.includes('/services/') && !url.includes('/gen/');
  const isCalled = ({ functionName, ranges }: Profiler.FunctionCoverage) =>
    functionName !== '' && (ranges[0]?.count ?? 0) > 0;
  return isOurs && functions.some(isCalled);
}
