import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from '#deploy/local/servers/free-port';
import type { Service } from '#test/support/servers/service';
import {
  type Part,
  type Place,
  ReleaseProcesses,
  UPGRADE_ORDER,
} from '#test/upgrade/release-processes';

/** Number of processes per part. With three engines, two remain after a crash. */
const COUNTS = { limiter: 2, engine: 3, edge: 2 } as const satisfies Record<Part, number>;

/** Processes of two releases behind a load balancer. */
export type MixedCluster = AsyncDisposable & {
  readonly processes: ReleaseProcesses;
  /** Address of the balancer, and admin port of a running limiter. */
  service(): Service;
};

type MixedClusterOptions = {
  readonly cassandra: string;
  readonly keyspace: string;
  readonly nats: string;
  /** Folder of the first release. */
  readonly folder: string;
};

/** Variables of all processes in both releases. */
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

/** Starts the cluster with one release. */
export async function startMixedCluster(options: MixedClusterOptions): Promise<MixedCluster> {
  await using opening = new AsyncDisposableStack();
  const places = await Promise.all(
    UPGRADE_ORDER.flatMap((part) =>
      Array.from({ length: COUNTS[part] }, async (_, at): Promise<Place> => {
        const ports = part === 'edge' ? await edgePorts() : {};
        return { part, name: `${part}${at + 1}`, ports };
      }),
    ),
  );
  const processes = opening.use(new ReleaseProcesses(places, sharedVariables(options)));
  await processes.startAll(['limiter', 'engine'], options.folder);
  await processes.startAll(['edge'], options.folder);
  const edges = places.filter(({ part }) => part === 'edge').map(({ ports }) => ports);
  const api = await balanced(opening, edges);
  const opened = opening.move();
  return {
    processes,
    service: () => ({ api, adminUrl: processes.addressOf('limiter', 'admin') }) as Service,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function edgePorts(): Promise<Record<string, string>> {
  const [port, operators] = [await freePort(), await freePort()];
  return { SERVICE_PORT: `${port}`, SERVICE_METRICS_PORT: `${operators}` };
}

/** Starts a balancer in front of edges, as in a local cluster. Returns the API address. */
async function balanced(
  opening: AsyncDisposableStack,
  edges: readonly Place['ports'][],
): Promise<string> {
  const port = await freePort();
  const targets = edges.map((ports) => `${ports['SERVICE_PORT']}/${ports['SERVICE_METRICS_PORT']}`);
  const child = spawn(process.execPath, ['deploy/local/balancer.ts', `${port}=${targets.join()}`]);
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
