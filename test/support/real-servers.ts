import { type Callback, suite as plainSuite, type Test } from 'uvu';

/*
 * The real servers of a test run. `node test/run.ts` starts those that the wanted files name and
 * says where they are. Use: `const { address, suite } = cassandraOrSkip();`, then
 * `const journal = suite('a journal on Cassandra');` as with uvu's own `suite`.
 */

/** A server, and the suites that need it. */
export type RealServer = {
  /** `host:port`, or `nats://host:port`; empty when every suite below skips its tests. */
  readonly address: string;
  /** uvu's `suite`; without the server its tests count as skipped and its hooks never run. */
  readonly suite: typeof plainSuite;
};

/** A Cassandra 5 that all files share: make a keyspace of your own, with a random name, and drop it. */
export function cassandraOrSkip(): RealServer {
  return serverOrSkip('Cassandra', 'TEST_CASSANDRA');
}

/** A NATS server that all files share: put something random into your subjects. */
export function natsOrSkip(): RealServer {
  return serverOrSkip('NATS', 'TEST_NATS');
}

/** A Jaeger that all files share: look for a trace of your own by its id. The address of its query API. */
export function jaegerOrSkip(): RealServer {
  return serverOrSkip('Jaeger', 'TEST_JAEGER');
}

/** A stripe-mock that all files share: it keeps nothing. `host:port` of its API. */
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
 * uvu's `suite`, or one that skips its tests and says why, for what a machine may lack. Throws on CI,
 * where nothing may be skipped.
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
