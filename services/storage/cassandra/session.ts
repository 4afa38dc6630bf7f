import { Client, type Host, type QueryOptions, types } from 'cassandra-driver';
import { Fault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { Reloadable } from '#platform/files';
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

/** A statement with its parameters: `bigint` for `bigint` columns; undefined leaves a column unset. */
export type Statement = { readonly query: string; readonly params: readonly unknown[] };

/**
 * What a statement is. `read`: `LOCAL_QUORUM`. `serial_read`: sees every conditional write that was
 * applied. `write`: unconditional and repeatable, because it carries its own timestamp or content that
 * never changes. These three are sent to a second server too when the first is slow.
 * `conditional`: sent once, never repeated by the driver. `schema`: changes tables.
 */
type StatementKind = 'read' | 'serial_read' | 'write' | 'conditional' | 'schema';

/** How a statement is sent. */
export type StatementOptions = {
  readonly kind: StatementKind;
  /** What the statement does, for the metric: `journal_append`. A closed set. */
  readonly operation: string;
  /** How long one try may take; undefined: `STATEMENT_MS_MAX`. Reads and writes have two tries. */
  readonly timeoutMs?: number;
  /** Rows of one page; undefined: 5,000, the driver's default. */
  readonly pageRows?: number;
  /** Where the next page begins: `pageState` of the page before. */
  readonly pageState?: string;
};

/** Why a second server was asked: the first was slow (decision 220), or gave an error. */
type SecondServerReason = 'slow' | 'error';

/**
 * Hears of every statement: how long it took, why it failed, if it did, and why an answered one was
 * sent to a second server, if it was.
 */
export type ObserveStatement = (
  operation: string,
  seconds: number,
  errorType: StoreErrorType | undefined,
  secondServer?: SecondServerReason,
) => void;

/** Where the servers are and how this process speaks to them. */
export type SessionOptions = {
  /** `host:port` of some servers; the rest is found through them. All listen on the same port. */
  readonly contactPoints: readonly string[];
  readonly localDataCenter: string;
  /** Undefined: none yet, for the caller that creates it. */
  readonly keyspace: string | undefined;
  /** Shown by each new connection; those there are last. */
  readonly credentials?: Reloadable<UserAndPassword> | undefined;
  /** Plain text without it. */
  readonly tls?: SessionTls | undefined;
  readonly clock: Clock;
  readonly observe?: ObserveStatement;
};

/** How long one try of a statement may take unless it says otherwise. Milliseconds. */
export const STATEMENT_MS_MAX = 2_000;

/** How long a connection may take to open. Milliseconds. */
const CONNECT_MS_MAX = 5_000;

/**
 * Unanswered statements after which a connection is closed and opened again: a half-open one would
 * otherwise swallow everything for long (the default is 64).
 */
const UNANSWERED_MAX = 4;

/** An idle connection is probed this often, so that a dead one is found before it is needed. */
const HEARTBEAT_MS = 5_000;

/** Where servers listen unless the contact point says otherwise. */
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
 * A process's connection to Cassandra. Methods reject with `service_unavailable` when no answer
 * comes in time, with `isOutcomeUnknown` when a change may have happened or happen yet, and with
 * `internal` when the server refuses for good: a broken statement, or one too large.
 */
export class CassandraSession implements AsyncDisposable {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #observe: ObserveStatement | undefined;

  /** For `openSession`, which connects first. */
  constructor(client: Client, { clock, observe }: Pick<SessionOptions, 'clock' | 'observe'>) {
    this.#client = client;
    this.#clock = clock;
    this.#observe = observe;
  }

  /** The keyspace whose tables statements name; empty: none. */
  get keyspace(): string {
    return this.#client.keyspace ?? '';
  }

  /** Sends one statement, prepared on first use. Answers one page of rows. */
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
   * Sends statements as one unlogged batch: one unit, if all are of one partition. Of several
   * partitions it is refused above 50 KiB (architecture 3.2).
   */
  batch(statements: readonly Statement[], options: StatementOptions): Promise<types.ResultSet> {
    const queries = statements.map(({ query, params }) => ({ query, params: [...params] }));
    return this.#watched(options, () =>
      this.#client.batch(queries, { ...driverOptions(options), logged: false }),
    );
  }

  /** All rows of a read, page by page; each page has the statement's deadline. */
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
   * Sends a read to every server that is up, to all at once: for tables that each server has of its
   * own. Answers what became of each.
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

  /** Closes every connection; what is under way ends with `service_unavailable`. */
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

/** Connects. Rejects with `service_unavailable` when no contact point answers or lets us in. */
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

/** Of the servers that the driver names, those that were skipped count for nothing. */
function secondServerReasonOf({ info }: types.ResultSet): SecondServerReason | undefined {
  const { speculativeExecutions = 0, triedHosts = {} } = info ?? {};
  if (speculativeExecutions > 0) return 'slow';
  const tried = Object.values(triedHosts);
  return tried.length > 1 && tried.some(hasFailed) ? 'error' : undefined;
}

/** What the driver met, in one line: of several servers what the first said. */
function refusalText(error: unknown): string {
  const { message, innerErrors } = error as Error & { innerErrors?: Record<string, Error> };
  const [inner] = Object.values(innerErrors ?? {});
  return (inner?.message ?? message).split('\n')[0] ?? '';
}

/**
 * After an outage of every contact point the driver discovers each server again, and forgets to close
 * what it knew before: that would connect again too, and never let the process end.
 */
function closeReplaced(host: Host & { shutdown?: (isDrained: boolean) => Promise<void> }): void {
  host.shutdown?.(false).catch(() => {
    // It is closed all the same.
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
    // Other servers are known by address alone, and taken to listen on this port.
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
