import { Client, type Host, type QueryOptions, types } from 'cassandra-driver';
import { Fault } from '#errors/fault';
import type { Clock } from '#stdlib/clock';
import type { Reloadable } from '#stdlib/files';
import {
  currentPassword,
  driverPolicies,
  failureOf,
  hasFailed,
  ONE_MORE_TRY,
  ONE_TRY,
  type SessionTls,
  type StatementEffect,
  type StoreErrorType,
  searchOnceAtATime,
  sslOptions,
  type UserAndPassword,
} from '#storage/cassandra/driver';

/**
 * A statement and its parameters. `bigint` columns take `bigint`; undefined leaves a column unset.
 */
export type Statement = { readonly query: string; readonly params: readonly unknown[] };

/**
 * Kind of a statement. `read`: with `LOCAL_QUORUM`. `serial_read`: sees every applied conditional
 * write. `write`: unconditional and repeatable, with its own timestamp or with content that never
 * changes. Statements of these three kinds are also sent to a second server if the first is slow.
 * `conditional`: sent once, never repeated by the driver. `schema`: changes tables.
 */
type StatementKind = 'read' | 'serial_read' | 'write' | 'conditional' | 'schema';

/** Options for sending a statement. */
export type StatementOptions = {
  readonly kind: StatementKind;
  /** Purpose of the statement, for the metric, for example `journal_append`. From a closed set. */
  readonly operation: string;
  /**
   * Timeout of a single attempt; undefined: `STATEMENT_MS_MAX`. Reads and writes have two attempts.
   */
  readonly timeoutMs?: number;
  /** Maximum number of rows in a page; undefined: 5,000, the driver's default. */
  readonly pageRows?: number;
  /** Start of the next page: `pageState` of the page before. */
  readonly pageState?: string;
};

/**
 * Reason for using a second server: the first server was slow (decision 220), or returned an error.
 */
type SecondServerReason = 'slow' | 'error';

/**
 * Called after every statement with its duration in seconds and its error type. `secondServer`: the
 * reason why an answered statement was also sent to a second server.
 */
export type ObserveStatement = (
  operation: string,
  seconds: number,
  errorType: StoreErrorType | undefined,
  secondServer?: SecondServerReason,
) => void;

/** Addresses of the servers and settings of the connections. */
export type SessionOptions = {
  /**
   * `host:port` of some servers. The driver learns the other servers from them. All servers listen
   * on the same port.
   */
  readonly contactPoints: readonly string[];
  readonly localDataCenter: string;
  /** Keyspace of all statements. Undefined for the caller that creates the keyspace. */
  readonly keyspace: string | undefined;
  /** Credentials for each new connection. Open connections keep their credentials. */
  readonly credentials?: Reloadable<UserAndPassword> | undefined;
  /** If set, all connections use TLS; otherwise plain text. */
  readonly tls?: SessionTls | undefined;
  readonly clock: Clock;
  readonly observe?: ObserveStatement;
};

/** Default timeout per attempt of a statement, in milliseconds. */
export const STATEMENT_MS_MAX = 2_000;

/** Timeout for opening a connection, in milliseconds. */
const CONNECT_MS_MAX = 5_000;

/**
 * Number of unanswered statements after which a connection is closed and opened again. With the
 * default of 64, statements would stay unanswered for a long time on a half-open connection.
 */
const UNANSWERED_MAX = 4;

/**
 * Heartbeat interval of an idle connection, in milliseconds. Detects a dead connection before the
 * next statement.
 */
const HEARTBEAT_MS = 5_000;

/** Port of the servers, unless the contact point names another port. */
const PORT = 9042;

const { localQuorum, localSerial } = types.consistencies;
const repeatable = { isIdempotent: true, retry: ONE_MORE_TRY };
const unrepeatable = { isIdempotent: false, retry: ONE_TRY };

const SENT_AS: Record<StatementKind, QueryOptions> = {
  read: { consistency: localQuorum, ...repeatable },
  serial_read: { consistency: localSerial, ...repeatable },
  write: { consistency: localQuorum, ...repeatable },
  conditional: { consistency: localQuorum, serialConsistency: localSerial, ...unrepeatable },
  schema: { consistency: localQuorum, prepare: false, ...unrepeatable },
};

const EFFECT: Record<StatementKind, StatementEffect> = {
  read: 'none',
  serial_read: 'none',
  write: 'change',
  conditional: 'change',
  schema: 'change',
};

/**
 * Connection of a process to Cassandra. Methods reject with `service_unavailable` if no answer
 * arrives in time. With `isOutcomeUnknown`, a change may have happened or may still happen. Methods
 * reject with `internal` if the server refuses permanently: the statement is wrong or too large.
 */
export class CassandraSession implements AsyncDisposable {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #observe: ObserveStatement | undefined;

  /** Only `openSession` calls the constructor, after the client has connected. */
  constructor(client: Client, { clock, observe }: Pick<SessionOptions, 'clock' | 'observe'>) {
    this.#client = client;
    this.#clock = clock;
    this.#observe = observe;
  }

  /** Keyspace of the tables in statements; empty: none. */
  get keyspace(): string {
    return this.#client.keyspace ?? '';
  }

  /** Sends a statement, prepared on first use. Returns one page of rows. */
  execute(
    query: string,
    params: readonly unknown[],
    options: StatementOptions,
  ): Promise<types.ResultSet> {
    return this.#watched(options, () =>
      this.#client.execute(query, [...params], driverOptions(options)),
    );
  }

  /**
   * Sends statements as one unlogged batch, which is atomic if all are in one partition. Cassandra
   * refuses a batch of several partitions above 50 KiB (architecture 3.2).
   */
  batch(statements: readonly Statement[], options: StatementOptions): Promise<types.ResultSet> {
    const queries = statements.map(({ query, params }) => ({ query, params: [...params] }));
    return this.#watched(options, () =>
      this.#client.batch(queries, { ...driverOptions(options), logged: false }),
    );
  }

  /** All rows of a read, in pages. The timeout of the statement applies to each page. */
  async *pages(
    query: string,
    params: readonly unknown[],
    options: StatementOptions,
  ): AsyncGenerator<types.Row[]> {
    let pageState: string | null | undefined;
    do {
      const page = await this.execute(
        query,
        params,
        typeof pageState === 'string' ? { ...options, pageState } : options,
      );
      yield page.rows;
      pageState = page.pageState;
    } while (typeof pageState === 'string');
  }

  /**
   * Sends a read to all servers that are up, in parallel. For tables that each server keeps
   * separately. Returns the outcome on each server.
   */
  async executeOnEach(
    query: string,
    params: readonly unknown[],
    options: StatementOptions,
  ): Promise<{ server: string; outcome: PromiseSettledResult<types.ResultSet> }[]> {
    const servers = this.#client.hosts.values().filter((host: Host) => host.isUp());
    return await Promise.all(
      servers.map(async (host) => {
        const asked = this.#watched(options, () =>
          this.#client.execute(query, [...params], { ...driverOptions(options), host }),
        );
        const [outcome] = await Promise.allSettled([asked]);
        return { server: host.address, outcome };
      }),
    );
  }

  /** Closes every connection. Statements in flight reject with `service_unavailable`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.shutdown();
  }

  async #watched(
    { kind, operation }: StatementOptions,
    send: () => Promise<types.ResultSet>,
  ): Promise<types.ResultSet> {
    const startedMs = this.#clock.monotonicMs();
    const seconds = () => (this.#clock.monotonicMs() - startedMs) / 1_000;
    try {
      const result = await send();
      this.#observe?.(operation, seconds(), undefined, secondServerReasonOf(result));
      return result;
    } catch (error) {
      const { fault, errorType } = failureOf(error, EFFECT[kind]);
      this.#observe?.(operation, seconds(), errorType);
      throw fault;
    }
  }
}

/**
 * Connects. Rejects with `service_unavailable` if no contact point answers or accepts the login.
 */
export async function openSession(options: SessionOptions): Promise<CassandraSession> {
  const client = new Client(clientOptions(options));
  client.on('hostRemove', closeReplaced);
  searchOnceAtATime(client);
  try {
    await client.connect();
  } catch (error) {
    await client.shutdown();
    const where = options.contactPoints.join(', ');
    const text = `no Cassandra can be used at ${where}: ${refusalText(error)}`;
    throw new Fault('service_unavailable', text, { cause: error });
  }
  return new CassandraSession(client, options);
}

/**
 * Reason why an answered statement used a second server. Servers that the driver skipped are
 * ignored.
 */
function secondServerReasonOf({ info }: types.ResultSet): SecondServerReason | undefined {
  const { speculativeExecutions = 0, triedHosts = {} } = info ?? {};
  if (speculativeExecutions > 0) return 'slow';
  const tried = Object.values(triedHosts);
  return tried.length > 1 && tried.some(hasFailed) ? 'error' : undefined;
}

/** Error of the driver in one line. If several servers failed, the error of the first. */
function refusalText(error: unknown): string {
  const { message, innerErrors } = error as Error & { innerErrors?: Record<string, Error> };
  const [inner] = Object.values(innerErrors ?? {});
  return (inner?.message ?? message).split('\n')[0] ?? '';
}

/**
 * Closes a host that the driver has replaced. After an outage of every contact point, the driver
 * discovers each server again and does not close the earlier hosts. Their connections would reopen
 * and keep the process alive.
 */
function closeReplaced(host: Host & { shutdown?: (isDrained: boolean) => Promise<void> }): void {
  host.shutdown?.(false).catch(() => {
    // The host is closed nevertheless.
  });
}

function driverOptions({ kind, timeoutMs, pageRows, pageState }: StatementOptions): QueryOptions {
  const options: QueryOptions = { ...SENT_AS[kind] };
  options.readTimeout = timeoutMs ?? STATEMENT_MS_MAX;
  if (pageRows !== undefined) options.fetchSize = pageRows;
  if (pageState !== undefined) options.pageState = pageState;
  return options;
}

function clientOptions(options: SessionOptions): ConstructorParameters<typeof Client>[0] {
  const { contactPoints, localDataCenter, keyspace, credentials, tls } = options;
  const port = Number(/:(\d+)$/.exec(contactPoints[0] ?? '')?.[1] ?? PORT);
  return {
    contactPoints: [...contactPoints],
    ...(keyspace === undefined ? {} : { keyspace }),
    ...(credentials === undefined ? {} : { authProvider: currentPassword(credentials) }),
    ...(tls === undefined ? {} : { sslOptions: sslOptions(tls) }),
    // The driver knows the other servers by address only, and assumes this port for them.
    protocolOptions: { port },
    policies: driverPolicies(localDataCenter),
    pooling: { heartBeatInterval: HEARTBEAT_MS },
    socketOptions: {
      connectTimeout: CONNECT_MS_MAX,
      readTimeout: STATEMENT_MS_MAX,
      defunctReadTimeoutThreshold: UNANSWERED_MAX,
    },
    encoding: { useBigIntAsLong: true },
    queryOptions: { prepare: true, consistency: localQuorum, serialConsistency: localSerial },
  };
}
