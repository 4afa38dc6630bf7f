import { auth, type Client, type ClientOptions, errors, policies, types } from 'cassandra-driver';
import { Fault } from '#fault/fault';
import { type ClientTls, tlsOptionsOf } from '#platform/certificates';
import type { Reloadable } from '#platform/files';

/** Between tries to reach a server again; the default grows to 10 min. Source: architecture 6. */
const RECONNECT_MS = 500;

/** How long a repeatable statement waits for one server before another is asked too. Ms. Decision 220. */
const SECOND_SERVER_MS = 100;

/** Tries once more, on another server if there is one; only for what may be repeated. */
class OneMoreTry extends policies.retry.RetryPolicy {
  override onRequestError(
    ...[info, consistency, error]: Parameters<policies.retry.RetryPolicy['onRequestError']>
  ) {
    if (info.nbRetry > 0) return this.rethrowResult();
    return super.onRequestError(info, consistency, error);
  }
}

/** For statements that may be repeated. */
export const ONE_MORE_TRY: policies.retry.RetryPolicy = new OneMoreTry();

/** For all others: they are sent once. */
export const ONE_TRY: policies.retry.RetryPolicy = new policies.retry.FallthroughRetryPolicy();

/** Which server the driver sends a statement to, when it sends one again, and to whom. */
export function driverPolicies(localDc: string): NonNullable<ClientOptions['policies']> {
  const { loadBalancing, reconnection, speculativeExecution } = policies;
  return {
    // Not as the client's own option: when that names no data center, the driver gives up without
    // closing its connection, and the process never ends.
    loadBalancing: new loadBalancing.DefaultLoadBalancingPolicy({ localDc }),
    reconnection: new reconnection.ConstantReconnectionPolicy(RECONNECT_MS),
    retry: ONE_TRY,
    // One more server, only for what is marked as idempotent: the first answer counts.
    speculativeExecution: new speculativeExecution.ConstantSpeculativeExecutionPolicy(
      SECOND_SERVER_MS,
      1,
    ),
    // A timestamp is the statement's own or the server's, never that of this process's clock.
    // The driver takes null for none; its types have only the generator.
    timestampGeneration: null as unknown as policies.timestampGeneration.TimestampGenerator,
  };
}

/** Why a statement failed, as the metric's `error_type` says it. */
export type StoreErrorType = 'timeout' | 'unavailable' | 'connection' | 'refused';

/** A failed statement: what the caller gets, and what the metric counts. */
type StoreFailure = { readonly fault: Fault; readonly errorType: StoreErrorType };

/** What a statement does, as far as its repetition and its loss matter. */
export type StatementEffect = 'none' | 'change';

const { responseErrorCodes: code } = types;

/** The server looked at the statement and will never take it; nothing was written. */
const REFUSALS: ReadonlySet<number> = new Set([
  code.protocolError,
  code.badCredentials,
  code.syntaxError,
  code.unauthorized,
  code.invalid,
  code.configError,
  code.alreadyExists,
]);

/** The replicas did not answer the coordinator in time. */
const TIMEOUTS: ReadonlySet<number> = new Set([code.readTimeout, code.writeTimeout]);

/**
 * The fault that an error of the driver stands for: `internal` when the server refuses for good,
 * else `service_unavailable`. A change whose request may have reached a server has
 * `isOutcomeUnknown`: it may have happened, or happen yet (architecture 3.1).
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
  // What is left comes from encoding the statement: a wrong type, a missing parameter.
  return error instanceof errors.DriverInternalError ? 'unavailable' : 'refused';
}

/** Whether no server can have seen the request, so that nothing can come of it. */
function wasNeverSent(error: unknown): boolean {
  if (error instanceof errors.NoHostAvailableError) {
    return Object.values<unknown>(error.innerErrors ?? {}).every(wasNotTried);
  }
  return isSocketError(error) && error.requestNotWritten === true;
}

/** Whether the driver sent a statement to a server in vain, by what it notes of that server. */
export function hasFailed(inner: unknown): boolean {
  return !wasNotTried(inner);
}

/** Hosts that were skipped bear a text, a busy connection or nothing at all. */
function wasNotTried(inner: unknown): boolean {
  if (!(inner instanceof Error)) return true;
  if (inner instanceof errors.BusyConnectionError) return true;
  if (isSocketError(inner)) return inner.requestNotWritten === true;
  return !(inner instanceof errors.ResponseError || inner instanceof errors.OperationTimedOutError);
}

/** The driver marks what the socket failed with properties that its types do not name. */
function isSocketError(
  error: unknown,
): error is Error & { isSocketError: true; requestNotWritten?: boolean } {
  return error instanceof Error && 'isSocketError' in error && error.isSocketError === true;
}

/** Encryption, and the DNS name in the certificates of all servers; their addresses without one. */
export type SessionTls = {
  readonly client: Reloadable<ClientTls>;
  readonly serverName: string | undefined;
};

/** Who calls, for a server that asks. */
export type UserAndPassword = { readonly username: string; readonly password: string };

/** Options of the driver, which keeps this object and reads its fields whenever it connects. */
export function sslOptions({ client, serverName }: SessionTls) {
  const named = serverName === undefined ? {} : { servername: serverName };
  return Object.assign(tlsOptionsOf(client), named) as NonNullable<ClientOptions['sslOptions']>;
}

/** Shows user and password as they are when a connection is made. */
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

/** What the driver keeps to itself of how it finds servers. Version 4.10.0, which is pinned. */
type ControlConnection = { _refresh: (hostsLeft?: unknown) => Promise<void> };

/** Pause before a search that has failed in an unforeseen way is made again, in milliseconds. */
const SEARCH_AGAIN_MS = 500;

/**
 * Makes the driver search for servers once at a time. After an outage two searches may run side by
 * side and take each other's connection away: then one connection stays open for ever, or the search
 * rejects in a timer of the driver's own, which ends the process. Throws an Error for a driver that
 * is made otherwise.
 */
export function searchOnceAtATime(client: Client): void {
  const control: ControlConnection | undefined = Reflect.get(client, 'controlConnection');
  if (typeof control?._refresh !== 'function') {
    throw new Error('this Cassandra driver finds its servers in another way: see single-search.ts');
  }
  const refresh = control._refresh.bind(control);
  let search: Promise<void> | undefined;
  control._refresh = (hostsLeft) => {
    // A search goes on with the servers that it has left by calling itself.
    if (hostsLeft !== undefined) return refresh(hostsLeft);
    search ??= refresh()
      .catch(() => {
        // When the session is closed meanwhile the next search ends at once.
        setTimeout(() => void control._refresh(), SEARCH_AGAIN_MS).unref();
      })
      .finally(() => {
        search = undefined;
      });
    return search;
  };
}
