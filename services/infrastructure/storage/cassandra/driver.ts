import { auth, type Client, type ClientOptions, errors, policies, types } from 'cassandra-driver';
import { Fault } from '#errors/fault';
import { type ClientTls, tlsOptionsOf } from '#stdlib/certificates';
import type { Reloadable } from '#stdlib/files';

/**
 * Interval between reconnection attempts, in milliseconds. The default interval grows to 10
 * minutes. Source: architecture 6.
 */
const RECONNECT_MS = 500;

/**
 * Delay before a repeatable statement is also sent to a second server, in milliseconds. Source:
 * decision 220.
 */
const SECOND_SERVER_MS = 100;

/**
 * Retry policy of repeatable statements: one retry, on another server if there is another server.
 */
class OneMoreTry extends policies.retry.RetryPolicy {
  override onRequestError(
    ...[info, consistency, error]: Parameters<policies.retry.RetryPolicy['onRequestError']>
  ) {
    if (info.nbRetry > 0) return this.rethrowResult();
    return super.onRequestError(info, consistency, error);
  }
}

/** The policy `OneMoreTry`, shared by all repeatable statements. */
export const ONE_MORE_TRY: policies.retry.RetryPolicy = new OneMoreTry();

/** Retry policy of all other statements: no retry. */
export const ONE_TRY: policies.retry.RetryPolicy = new policies.retry.FallthroughRetryPolicy();

/** Policies of the driver: load balancing, reconnection, retries and speculative execution. */
export function driverPolicies(localDc: string): NonNullable<ClientOptions['policies']> {
  const { loadBalancing, reconnection, speculativeExecution } = policies;
  return {
    // The client's own option for the data center is not used. If no server is in that data center,
    // the driver would give up without closing its connection, and the process would never end.
    loadBalancing: new loadBalancing.DefaultLoadBalancingPolicy({ localDc }),
    reconnection: new reconnection.ConstantReconnectionPolicy(RECONNECT_MS),
    retry: ONE_TRY,
    // Speculative execution on a second server, only for idempotent statements. The driver uses the
    // first answer.
    speculativeExecution: new speculativeExecution.ConstantSpeculativeExecutionPolicy(
      SECOND_SERVER_MS,
      1,
    ),
    // Timestamps come from the statement or from the server, never from this process's clock. The
    // driver accepts null for no generator, although its types do not.
    timestampGeneration: null as unknown as policies.timestampGeneration.TimestampGenerator,
  };
}

/** Error type of a failed statement: the label `error_type` of the metric. */
export type StoreErrorType = 'timeout' | 'unavailable' | 'connection' | 'refused';

/** Failure of a statement: the fault for the caller, and the error type for the metric. */
type StoreFailure = { readonly fault: Fault; readonly errorType: StoreErrorType };

/** Effect of a statement. The outcome of a `change` is unknown if its answer is lost. */
export type StatementEffect = 'none' | 'change';

const { responseErrorCodes: code } = types;

/** Error codes of a server that refuses a statement permanently. Nothing was written. */
const REFUSALS: ReadonlySet<number> = new Set([
  code.protocolError,
  code.badCredentials,
  code.syntaxError,
  code.unauthorized,
  code.invalid,
  code.configError,
  code.alreadyExists,
]);

/** Error codes for replicas that did not answer the coordinator in time. */
const TIMEOUTS: ReadonlySet<number> = new Set([code.readTimeout, code.writeTimeout]);

/**
 * Converts an error of the driver into a fault: `internal` if the server refuses permanently, else
 * `service_unavailable`. A change whose request may have reached a server has `isOutcomeUnknown`:
 * the change may have happened or may still happen (architecture 3.1).
 */
export function failureOf(error: unknown, effect: StatementEffect): StoreFailure {
  const errorType = errorTypeOf(error);
  if (errorType === 'refused') {
    return { errorType, fault: new Fault('internal', 'internal error', { cause: error }) };
  }
  const isOutcomeUnknown = effect === 'change' && !wasNeverSent(error);
  const options = { retryAfterS: 1, isOutcomeUnknown, cause: error };
  return {
    errorType,
    fault: new Fault('service_unavailable', 'the store gives no answer', options),
  };
}

function errorTypeOf(error: unknown): StoreErrorType {
  if (error instanceof errors.ResponseError) {
    if (REFUSALS.has(error.code)) return 'refused';
    return TIMEOUTS.has(error.code) ? 'timeout' : 'unavailable';
  }
  if (error instanceof errors.OperationTimedOutError) return 'timeout';
  if (isSocketError(error)) return 'connection';
  if (error instanceof errors.NoHostAvailableError) return 'unavailable';
  // Other errors come from encoding the statement, for example a wrong type or a missing parameter.
  return error instanceof errors.DriverInternalError ? 'unavailable' : 'refused';
}

/** Whether no server can have received the request, so that the request has no effect. */
function wasNeverSent(error: unknown): boolean {
  if (error instanceof errors.NoHostAvailableError) {
    return Object.values<unknown>(error.innerErrors ?? {}).every(wasNotTried);
  }
  return isSocketError(error) && error.requestNotWritten === true;
}

/**
 * Whether the driver sent a statement to a server without success. `inner` is the entry of that
 * server in the driver's error.
 */
export function hasFailed(inner: unknown): boolean {
  return !wasNotTried(inner);
}

/** Whether the driver skipped a host. The entry is then a text, a busy connection, or missing. */
function wasNotTried(inner: unknown): boolean {
  if (!(inner instanceof Error)) return true;
  if (inner instanceof errors.BusyConnectionError) return true;
  if (isSocketError(inner)) return inner.requestNotWritten === true;
  return !(inner instanceof errors.ResponseError || inner instanceof errors.OperationTimedOutError);
}

/** Whether an error is a failure of the socket. The driver's types lack these properties. */
function isSocketError(
  error: unknown,
): error is Error & { isSocketError: true; requestNotWritten?: boolean } {
  return error instanceof Error && 'isSocketError' in error && error.isSocketError === true;
}

/**
 * TLS settings. `serverName`: DNS name in the certificates of all servers; undefined: their
 * addresses.
 */
export type SessionTls = {
  readonly client: Reloadable<ClientTls>;
  readonly serverName: string | undefined;
};

/** Credentials for servers that require authentication. */
export type UserAndPassword = { readonly username: string; readonly password: string };

/**
 * TLS options of the driver. The driver keeps this object and reads its fields whenever it
 * connects.
 */
export function sslOptions({ client, serverName }: SessionTls) {
  const named = serverName === undefined ? {} : { servername: serverName };
  return Object.assign(tlsOptionsOf(client), named) as NonNullable<ClientOptions['sslOptions']>;
}

/** Authentication with the credentials that are current when a connection opens. */
export function currentPassword(credentials: Reloadable<UserAndPassword>): auth.AuthProvider {
  return new CurrentPassword(credentials);
}

class CurrentPassword extends auth.PlainTextAuthProvider {
  readonly #credentials: Reloadable<UserAndPassword>;

  constructor(credentials: Reloadable<UserAndPassword>) {
    super('', '');
    this.#credentials = credentials;
  }

  override newAuthenticator(endpoint: string, name: string): auth.Authenticator {
    const { username, password } = this.#credentials.current;
    return new auth.PlainTextAuthProvider(username, password).newAuthenticator(endpoint, name);
  }
}

/** Private part of the driver that discovers servers. The version 4.10.0 is pinned. */
type ControlConnection = { _refresh: (hostsLeft?: unknown) => Promise<void> };

/** Pause before the next discovery after an unexpected failure, in milliseconds. */
const SEARCH_AGAIN_MS = 500;

/**
 * Limits the driver to one server discovery at a time. After an outage, two parallel discoveries
 * may replace each other's connection. Then a connection stays open for ever, or a rejection in a
 * timer of the driver ends the process. Throws an Error for a driver with another structure.
 */
export function searchOnceAtATime(client: Client): void {
  const control: ControlConnection | undefined = Reflect.get(client, 'controlConnection');
  if (typeof control?._refresh !== 'function') {
    throw new Error('unsupported cassandra-driver: controlConnection._refresh is missing');
  }
  const refresh = control._refresh.bind(control);
  let search: Promise<void> | undefined;
  control._refresh = (hostsLeft) => {
    // A discovery calls itself for the servers that are left.
    if (hostsLeft !== undefined) return refresh(hostsLeft);
    search ??= refresh()
      .catch(() => {
        // If the session was closed in the meantime, the next discovery ends immediately.
        setTimeout(() => void control._refresh(), SEARCH_AGAIN_MS).unref();
      })
      .finally(() => {
        search = undefined;
      });
    return search;
  };
}
