import { type Callback, suite as plainSuite, type Test } from 'uvu';

/*
 * Real servers for a test run. `node test/run.ts` starts the servers that the selected files use,
 * and passes their addresses. Usage: `const { address, suite } = cassandraOrSkip();`, then `const
 * journal = suite('a journal on Cassandra');` as with uvu's own `suite`.
 */

/** A server, and a suite that skips without it. */
export type RealServer = {
  /** `host:port` or `nats://host:port`; empty if every suite skips its tests. */
  readonly address: string;
  /** uvu's `suite`; without the server, tests are skipped and hooks do not run. */
  readonly suite: typeof plainSuite;
};

/**
 * Cassandra 5, shared by all files: create a keyspace with a random name, and drop the keyspace.
 */
export function cassandraOrSkip(): RealServer {
  return serverOrSkip('Cassandra', 'TEST_CASSANDRA');
}

/** NATS server, shared by all files: use random subjects. */
export function natsOrSkip(): RealServer {
  return serverOrSkip('NATS', 'TEST_NATS');
}

/** Jaeger's query API address, shared by all files: look traces up by id. */
export function jaegerOrSkip(): RealServer {
  return serverOrSkip('Jaeger', 'TEST_JAEGER');
}

/** `host:port` where stripe-mock listens, shared by all files; stateless. */
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
 * uvu's `suite`. If `lack` is set, a suite that skips its tests and prints the reason. Throws on
 * CI, where no test may be skipped.
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
