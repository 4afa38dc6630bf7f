import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '#deploy/local/servers/free-port';
import { testVariables } from '#test/support/process-run';

/** A real service in separate processes, for tests over HTTP. */
export type Service = AsyncDisposable & {
  /** `http://127.0.0.1:port` without a path. */
  readonly origin: string;
  /** `origin` + `/v1`. */
  readonly api: string;
  readonly metricsUrl: string;
  readonly adminUrl: string;
  /** Processes by name, for tests that stop or kill processes. */
  readonly processes: ReadonlyMap<string, ChildProcess>;
  /** Standard error from all processes so far. */
  readonly log: () => string;
};

/** Long limiter timeout for a busy machine. Outage tests set their own timeout. */
const UNHURRIED = { SERVICE_LIMITER_TIMEOUT_MS: '5000' };

/** Cluster secret, required by an edge. */
const SECRET = { SERVICE_CLUSTER_SECRET: 'the secret of all tests' };

/** Timeout until a process is ready, in milliseconds. */
const READY_MS_MAX = 15_000;

type Started = { readonly child: ChildProcess; readonly lines: string[]; readonly log: string[] };

/**
 * Starts the service on free ports in the topology `TEST_TOPOLOGY`: standalone in memory, in a file
 * or on Cassandra, or edge, engine and limiter as three processes. `variables` extend all
 * processes' environment.
 */
export async function startService(variables: Record<string, string> = {}): Promise<Service> {
  switch (process.env['TEST_TOPOLOGY']) {
    case 'processes':
      return startProcesses(variables);
    case 'cassandra':
      return startStandalone({ ...onCassandra(), ...variables });
    case 'sqlite':
      return startOnFile(variables);
    default:
      return startStandalone({ ...UNHURRIED, ...variables });
  }
}

/** Services that the test files in this process share, by topology. */
const shared = new Map<string, Promise<Service>>();

/**
 * The service that all test files in this process share, in the topology `TEST_TOPOLOGY`, stopped
 * on exit. For tests that need no own variables, log or metrics, and that restore global state.
 */
export function sharedService(): Promise<Service> {
  const topology = process.env['TEST_TOPOLOGY'] ?? '';
  const known = shared.get(topology);
  if (known !== undefined) return known;
  const started = startService().then((service) => {
    for (const [, child] of service.processes) letExitWithout(child);
    return service;
  });
  shared.set(topology, started);
  return started;
}

/** Lets this process exit while the child runs. The exit handler of `start` then ends the child. */
function letExitWithout(child: ChildProcess): void {
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr])
    (stream as Socket | null)?.unref();
}

/** Variables for a process on Cassandra, with few shards, because every start claims all shards. */
function onCassandra(): Record<string, string> {
  return {
    SERVICE_STORAGE: 'cassandra',
    SERVICE_CASSANDRA_CONTACT_POINTS: process.env['TEST_CASSANDRA'] ?? '',
    SERVICE_CASSANDRA_KEYSPACE: process.env['TEST_KEYSPACE'] ?? '',
    SERVICE_SHARDS: '8',
    ...UNHURRIED,
  };
}

/** Variables for a process on a file, with few shards, because every start claims all shards. */
export function onFile(file: string): Record<string, string> {
  return {
    SERVICE_STORAGE: 'sqlite',
    SERVICE_SQLITE_FILE: file,
    SERVICE_SHARDS: '8',
    ...UNHURRIED,
  };
}

/** Starts one process on a new file. Disposal also deletes the file. */
async function startOnFile(variables: Record<string, string>): Promise<Service> {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-file-'));
  const file = join(folder, 'identity-engine.db');
  const service = await startStandalone({ ...onFile(file), ...variables });
  return {
    ...service,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Starts one process with all roles. */
export async function startStandalone(variables: Record<string, string> = {}): Promise<Service> {
  const started = await start('standalone', variables, /Ctrl-C/);
  const find = (pattern: RegExp) => match(started.lines, pattern);
  return serviceOf(
    { standalone: started },
    find(/API +(http:\S+)\/v1/),
    find(/Metrics +(http:\S+)/),
    find(/Admin +(http:\S+)/),
  );
}

/** Starts an edge, an engine, a limiter and a courier. */
export async function startProcesses(variables: Record<string, string> = {}): Promise<Service> {
  const courierAddress = `127.0.0.1:${await freePort()}`;
  const courierVariables = { SERVICE_COURIER_LISTEN: courierAddress, ...SECRET, ...variables };
  const [courier, limiter, engine] = await Promise.all([
    start('courier', courierVariables, /ready/),
    start(
      'limiter',
      { SERVICE_LIMITER_LISTEN: '127.0.0.1:0', ...UNHURRIED, ...variables },
      /ready/,
    ),
    start(
      'engine',
      {
        SERVICE_ENGINE_LISTEN: '127.0.0.1:0',
        SERVICE_COURIER_ADDRESSES: courierAddress,
        ...variables,
      },
      /ready/,
    ),
  ]);
  const addresses = {
    SERVICE_LIMITER_ADDRESS: match(limiter.lines, /grpc ([^,\s]+)/),
    SERVICE_ENGINE_ADDRESS: match(engine.lines, /grpc ([^,\s]+)/),
  };
  const edge = await start(
    'edge',
    { ...addresses, ...UNHURRIED, ...SECRET, ...variables },
    /ready/,
  );
  return serviceOf(
    { edge, engine, limiter, courier },
    match(edge.lines, /api (http:[^,\s]+)\/v1/),
    match(edge.lines, /metrics (http:[^,\s]+)/),
    match(limiter.lines, /admin (http:[^,\s]+)/),
  );
}

/** Starts a service process and waits until its output matches `ready`. */
export async function start(
  part: string,
  variables: Record<string, string>,
  ready: RegExp,
): Promise<Started> {
  const env = { ...testVariables(), ...variables };
  const child = spawn(process.execPath, ['services/main.ts', part], { env });
  // SIGTERM stops a service cleanly, so that it writes coverage data.
  const end = () => void child.kill('SIGTERM');
  process.once('exit', end);
  child.once('exit', () => process.off('exit', end));
  const lines: string[] = [];
  const log: string[] = [];
  child.stderr.on('data', (chunk: Buffer) => log.push(chunk.toString()));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    if (ready.test(line)) resolve();
  });
  child.once('exit', (code) => reject(new Error(`${part} ended with ${code}: ${log.join('')}`)));
  const timer = setTimeout(() => reject(new Error(`${part} is not ready`)), READY_MS_MAX);
  await promise.finally(() => clearTimeout(timer));
  return { child, lines, log };
}

function serviceOf(
  started: Record<string, Started>,
  origin: string,
  metricsUrl: string,
  adminUrl: string,
): Service {
  const all = Object.entries(started);
  return {
    origin,
    api: `${origin}/v1`,
    metricsUrl,
    adminUrl,
    processes: new Map(all.map(([name, { child }]) => [name, child])),
    log: () => all.map(([, { log }]) => log.join('')).join(''),
    async [Symbol.asyncDispose]() {
      for (const [, { child }] of all) await stop(child);
    },
  };
}

/** Stops a process with SIGTERM, as operators do, and waits for its end. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

function match(lines: readonly string[], pattern: RegExp): string {
  for (const line of lines) {
    const found = pattern.exec(line)?.[1];
    if (found !== undefined) return found;
  }
  throw new Error(`no line of the output matches ${pattern}`);
}
