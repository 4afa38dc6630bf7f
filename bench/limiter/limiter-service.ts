import {
  KEYSPACE,
  limiterVariables,
  migrated,
  startProcess,
  startStores,
  untilAllServed,
} from '#bench/durable/service';
import { type BenchAccount, createAccounts } from '#bench/limiter/bench-accounts';
import type { Measured } from '#bench/measures/cpu-time';
import type { Child } from '#bench/processes/child';
import { freePorts } from '#bench/processes/free-ports';
import { metricsUrlOf } from '#bench/processes/service';
import { temporaryFolder } from '#bench/processes/temporary-folder';

/** Number of accounts that send requests. Source: the project's targets. */
const ACCOUNTS = 1_000;

/** A limiter on Cassandra and NATS. The limiter owns every shard. */
export type LimiterService = AsyncDisposable & {
  /** gRPC address as `host:port`. */
  readonly address: string;
  readonly limiter: Child;
  readonly metricsUrl: string;
  /** Cassandra address and keyspace of the tables. */
  readonly cassandra: { readonly address: string; readonly keyspace: string };
  readonly accounts: readonly BenchAccount[];
  /** Processes whose CPU time is measured: the limiter, Cassandra and NATS. */
  readonly processes: readonly Measured[];
};

/**
 * Starts Cassandra, NATS and a limiter, and creates the accounts. `more` adds environment variables
 * for the limiter. Throws `MissingServer` if a server is not installed.
 */
export async function startLimiterService(
  print: (line: string) => void,
  nodeArgs: readonly string[] = [],
  more: Readonly<Record<string, string>> = {},
): Promise<LimiterService> {
  await using opening = new AsyncDisposableStack();
  const { cassandra, nats } = opening.use(await startStores({ folder: temporaryFolder(), print }));
  const shared = await migrated({ cassandra, nats });
  const [admin = 0, grpc = 0] = await freePorts(2);
  const address = `127.0.0.1:${grpc}`;
  const variables = { ...limiterVariables(shared, admin, address), ...more };
  const named = { name: 'limiter', nodeArgs };
  const { child, metrics } = await startProcess(opening, 'limiter', variables, named);
  const metricsUrl = metricsUrlOf(metrics);
  await untilAllServed(child, [metricsUrl]);
  print(`creating ${ACCOUNTS} accounts`);
  const accounts = await createAccounts(ACCOUNTS, admin);
  const stores = [
    { name: 'cassandra', pid: cassandra.pid },
    { name: 'nats', pid: nats.pid },
  ];
  const opened = opening.move();
  return {
    address,
    limiter: child,
    metricsUrl,
    cassandra: { address: cassandra.address, keyspace: KEYSPACE },
    accounts,
    processes: [child, ...stores],
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
