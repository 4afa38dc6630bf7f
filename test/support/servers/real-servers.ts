import { type Callback, suite as plainSuite, type Test } from 'uvu';

/*
 * Real servers for a test run. `node test/run.ts` starts the servers that the selected test files
 * use, and passes the addresses as environment variables. All test files share the servers.
 *
 * Usage: `const { address, suite } = cassandraOrSkip();`, then use this `suite` like uvu's `suite`:
 * `const journal = suite('a journal on Cassandra');`.
 */

/** Address of a server, and a `suite` that skips its tests if the server is missing. */
export type RealServer = {
  /** `host:port`, or `nats://host:port` for NATS; empty if the server is missing. */
  readonly address: string;
  /** uvu's `suite`. If the server is missing, tests are skipped and hooks do not run. */
  readonly suite: typeof plainSuite;
};

/** Cassandra 5. Create a keyspace with a random name, and drop the keyspace at the end. */
export function cassandraOrSkip(): RealServer {
  return serverOrSkip('Cassandra', 'TEST_CASSANDRA');
}

/** NATS. Use subjects with random names. */
export function natsOrSkip(): RealServer {
  return serverOrSkip('NATS', 'TEST_NATS');
}

/** Query API of Jaeger. Find traces by trace id. */
export function jaegerOrSkip(): RealServer {
  return serverOrSkip('Jaeger', 'TEST_JAEGER');
}

/** stripe-mock, which keeps no state between requests. */
export function stripeMockOrSkip(): RealServer {
  return serverOrSkip('stripe-mock', 'TEST_STRIPE_MOCK');
}

function serverOrSkip(name: string, variable: string): RealServer {
  const address = process.env[variable] ?? '';
  if (address !== '') return { address, suite: plainSuite };
  const reason = process.env[`${variable}_MISSING`] ?? `${variable} is not set`;
  return { address, suite: suiteUnless(`there is no ${name}: ${reason}`) };
}

/**
 * Returns uvu's `suite` if `lack` is undefined. Otherwise prints `lack` as the reason and returns a
 * `suite` that skips its tests. On CI, no test may be skipped: throws an error with the reason.
 */
export function suiteUnless(lack: string | undefined): typeof plainSuite {
  if (lack === undefined) return plainSuite;
  if (process.env['CI'] === 'true') throw new Error(lack);
  console.log(`skipped because ${lack}`);
  return skippingSuite;
}

function skippingSuite<Context>(name?: string, context?: Context): Test<Context> {
  const real = plainSuite<Context>(name, context);
  const skipping = (title: string, test: Callback<Context>): void => real.skip(title, test);
  const hook = Object.assign(() => {}, { each: () => {} });
  const { run, skip } = real;
  return Object.assign(skipping, { only: skipping, skip, run, before: hook, after: hook });
}
