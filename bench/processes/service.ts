import { at } from '#bench/load/process-answer';
import type { Measured } from '#bench/measures/cpu-time';
import { Child, environment, run } from '#bench/processes/child';
import { freePorts } from '#bench/processes/free-ports';
import { untilReady } from '#bench/processes/readiness';

/** Entry point of the service. */
export const MAIN = 'services/main.ts';

/**
 * Requests per minute of an account: so high that the limiter works normally but refuses no call.
 */
export const REQUESTS_PER_MINUTE = '1000000000';

/** Cycles per month of an account, unreachable like the request limit. */
export const CYCLES_PER_MONTH = '1000000000000';

/** The service under test: its addresses and processes. */
export type Service = AsyncDisposable & {
  /** Base address of the API, without `/v1`. */
  readonly address: string;
  /** Metrics URLs of the processes that advance instances. */
  readonly metricsUrls: readonly string[];
  /** API key of an account with unreachable limits. */
  readonly key: string;
  readonly processes: readonly Measured[];
};

/** A service with an admin port for accounts. */
export type AdministeredService = Service & { readonly adminPort: number };

/**
 * Starts a process with all roles. `main` may be another checkout's entry point; `more` adds
 * environment variables.
 */
export async function startStandalone(
  nodeArgs: readonly string[] = [],
  main = MAIN,
  more: Readonly<Record<string, string>> = {},
): Promise<AdministeredService & { readonly process: Child }> {
  await using opening = new AsyncDisposableStack();
  const [api = 0, metrics = 0, admin = 0] = await freePorts(3);
  const ports = { SERVICE_PORT: `${api}`, SERVICE_ADMIN_PORT: `${admin}` };
  // Earlier releases refuse this variable, which they do not define.
  const own = main === MAIN ? { SERVICE_CONSOLE_ENABLED: 'false' } : {};
  const variables = { ...ports, ...own, ...more };
  const child = opening.use(startRole('standalone', metrics, variables, { nodeArgs, main }));
  await untilReady(child, `${metricsUrlOf(metrics)}/health/ready`);
  const key = await createKey(admin, main);
  const service = running(opening.move(), { api, metrics: [metrics], key, processes: [child] });
  return { ...service, process: child, adminPort: admin };
}

/**
 * Starts edge, limiter and engine as three processes. `main` may be another checkout's entry point;
 * `more` adds environment variables for all three.
 */
export async function startThreeProcesses(
  main = MAIN,
  more: Readonly<Record<string, string>> = {},
): Promise<AdministeredService> {
  await using opening = new AsyncDisposableStack();
  const ports = await freePorts(7);
  const [api = 0, admin = 0, engineAt = 0, limiterAt = 0, ...metricsPorts] = ports;
  const [engineMetrics = 0, limiterMetrics = 0, edgeMetrics = 0] = metricsPorts;
  const engineAddress = `127.0.0.1:${engineAt}`;
  const limiterAddress = `127.0.0.1:${limiterAt}`;
  const start = (role: string, metricsPort: number, variables: Record<string, string>) =>
    opening.use(startRole(role, metricsPort, { ...variables, ...more }, { main }));
  const limiter = start('limiter', limiterMetrics, {
    SERVICE_LIMITER_LISTEN: limiterAddress,
    SERVICE_ADMIN_PORT: `${admin}`,
  });
  const engine = start('engine', engineMetrics, { SERVICE_ENGINE_LISTEN: engineAddress });
  await untilReady(limiter, `${metricsUrlOf(limiterMetrics)}/health/ready`);
  await untilReady(engine, `${metricsUrlOf(engineMetrics)}/health/ready`);
  const edge = start('edge', edgeMetrics, {
    SERVICE_PORT: `${api}`,
    SERVICE_ENGINE_ADDRESS: engineAddress,
    SERVICE_CLUSTER_SECRET: 'the secret of the benchmark',
    SERVICE_LIMITER_ADDRESS: limiterAddress,
  });
  await untilReady(edge, `${metricsUrlOf(edgeMetrics)}/health/ready`);
  const key = await createKey(admin, main);
  const processes = [edge, limiter, engine];
  const service = running(opening.move(), { api, metrics: [engineMetrics], key, processes });
  return { ...service, adminPort: admin };
}

/** Describes a running service by its API port and metrics ports. */
export function running(
  opened: AsyncDisposableStack,
  parts: {
    readonly api: number;
    readonly metrics: readonly number[];
    readonly key: string;
    readonly processes: readonly Measured[];
  },
): Service {
  return {
    address: `http://127.0.0.1:${parts.api}`,
    metricsUrls: parts.metrics.map(metricsUrlOf),
    key: parts.key,
    processes: parts.processes,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Starts a process of the service. `name` is the process's name in reports. */
export function startRole(
  role: string,
  metricsPort: number,
  variables: Readonly<Record<string, string>>,
  {
    nodeArgs = [],
    name = role,
    main = MAIN,
  }: { readonly nodeArgs?: readonly string[]; readonly name?: string; readonly main?: string } = {},
): Child {
  return new Child({
    name,
    program: process.execPath,
    args: [...nodeArgs, main, role],
    env: environment({ SERVICE_METRICS_PORT: `${metricsPort}`, ...variables }),
  });
}

/** URL of a port that serves metrics and health. */
export function metricsUrlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/** Creates an account with unreachable limits and returns its API key. Uses `ctl`. */
export async function createKey(adminPort: number, main = MAIN): Promise<string> {
  const limits = [
    '--requests-per-minute',
    REQUESTS_PER_MINUTE,
    '--cycles-per-month',
    CYCLES_PER_MONTH,
  ];
  const account = await ctl(
    ['accounts', 'create', 'bench', '--plan', 'enterprise', ...limits],
    adminPort,
    main,
  );
  const given = await ctl(
    ['keys', 'create', `${at(account, ['id'])}`, '--scope', 'full'],
    adminPort,
    main,
  );
  const key = at(given, ['key']);
  if (typeof key !== 'string') throw new Error('ctl keys create returned no key');
  return key;
}

async function ctl(args: readonly string[], adminPort: number, main: string): Promise<unknown> {
  const output = await run({
    name: `ctl ${args.slice(0, 2).join(' ')}`,
    program: process.execPath,
    args: [main, 'ctl', ...args, '--json'],
    env: environment({ SERVICE_ADMIN_URL: `http://127.0.0.1:${adminPort}` }),
  });
  return JSON.parse(output);
}
