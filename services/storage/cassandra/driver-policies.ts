import { type ClientOptions, policies } from 'cassandra-driver';

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
