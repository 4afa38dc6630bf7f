import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from '#deploy/local/free-port';
import { addressIn, type ProcessRun, runMain } from '#test/support/process-run';
import type { Service } from '#test/support/service';

/** The parts in the order in which an upgrade replaces them. */
export const UPGRADE_ORDER = ['limiter', 'engine', 'edge'] as const;

type Part = (typeof UPGRADE_ORDER)[number];

/** A process of the cluster, which lives on under its name when another one takes its place. */
type Place = {
  readonly part: Part;
  readonly name: string;
  /** Of an edge: fixed ports, by which the balancer knows it. */
  readonly ports: Readonly<Record<string, string>>;
  run: ProcessRun;
};

/** Two of each part behind a balancer, each from the folder of one of two releases. */
export type MixedCluster = AsyncDisposable & {
  /** The balanced address, and the admin port of a limiter that runs now. */
  service(): Service;
  /** The names of a part's processes. */
  named(part: Part): readonly string[];
  /** Ends a process by SIGTERM and starts it from the folder; fulfils when it is ready. */
  replace(name: string, folder: string): Promise<void>;
};

type MixedClusterOptions = {
  readonly cassandra: string;
  readonly keyspace: string;
  readonly nats: string;
  /** Where the release lies that begins. */
  readonly folder: string;
};

/** How long a process may live, in milliseconds: a whole test file. */
const RUN_MS_MAX = 220_000;

/** The variables that all processes of both releases share. */
export function sharedVariables({
  cassandra,
  keyspace,
  nats,
}: Omit<MixedClusterOptions, 'folder'>): Record<string, string> {
  return {
    SERVICE_STORAGE: 'cassandra',
    SERVICE_CASSANDRA_CONTACT_POINTS: cassandra,
    SERVICE_CASSANDRA_KEYSPACE: keyspace,
    SERVICE_NATS_URL: nats,
    SERVICE_NATS_PREFIX: keyspace,
    SERVICE_SHARDS: '16',
    SERVICE_CLUSTER_SECRET: 'the secret of two releases',
    SERVICE_LIMITER_TIMEOUT_MS: '5000',
  };
}

/** Starts the cluster of one release. */
export async function startMixedCluster(options: MixedClusterOptions): Promise<MixedCluster> {
  await using opening = new AsyncDisposableStack();
  const shared = sharedVariables(options);
  const places = new Map<string, Place>();
  opening.defer(async () => {
    for (const place of [...places.values()].reverse()) await end(place.run);
  });

  async function start({ part, name, ports }: Omit<Place, 'run'>, folder: string) {
    const own = { SERVICE_NODE_NAME: name, SERVICE_DRAIN_SECONDS: undefined, ...ports };
    const run = runMain([part], { ...shared, ...own }, RUN_MS_MAX, folder);
    places.set(name, { part, name, ports, run });
    await run.says(new RegExp(`${part} is ready`));
  }

  const parts = await Promise.all(
    UPGRADE_ORDER.flatMap((part) =>
      [1, 2].map(async (number) => {
        const ports = part === 'edge' ? await edgePorts() : {};
        return { part, name: `${part}${number}`, ports } as const;
      }),
    ),
  );
  const startAll = (edges: boolean) =>
    parts
      .filter(({ part }) => (part === 'edge') === edges)
      .map((one) => start(one, options.folder));
  await Promise.all(startAll(false));
  await Promise.all(startAll(true));
  const edges = parts.filter(({ part }) => part === 'edge');
  const api = await balanced(
    opening,
    edges.map(({ ports }) => ports),
  );
  const opened = opening.move();
  return {
    service() {
      const limiter = [...places.values()].find(
        ({ part, run }) => part === 'limiter' && isLive(run),
      );
      if (limiter === undefined) throw new Error('no limiter runs');
      return { api, adminUrl: addressIn(limiter.run, 'admin') } as Service;
    },
    named: (part) => parts.filter((one) => one.part === part).map(({ name }) => name),
    async replace(name, folder) {
      const place = places.get(name);
      if (place === undefined) throw new Error(`there is no ${name}`);
      await end(place.run);
      await start(place, folder);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function edgePorts(): Promise<Record<string, string>> {
  const [port, operators] = [await freePort(), await freePort()];
  return { SERVICE_PORT: `${port}`, SERVICE_METRICS_PORT: `${operators}` };
}

/** A balancer in front of edges, as a local cluster has it: the address of the API. */
async function balanced(
  opening: AsyncDisposableStack,
  edges: readonly Place['ports'][],
): Promise<string> {
  const port = await freePort();
  const targets = edges.map((ports) => `${ports['SERVICE_PORT']}/${ports['SERVICE_METRICS_PORT']}`);
  const child = spawn(process.execPath, ['deploy/local/balancer.ts', `${port}`, ...targets]);
  opening.defer(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  });
  const address = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 200; tries += 1) {
    const isUp = await fetch(address).then(
      () => true,
      () => false,
    );
    if (isUp) return `${address}/v1`;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('the balancer does not answer');
}

function isLive({ child }: ProcessRun): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** Ends a process as an operator does. Throws when it did not end well. */
async function end({ child, ended, stderr }: ProcessRun): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const code = await ended;
  if (code !== 0) throw new Error(`a process ended with ${code}: ${stderr()}`);
}
