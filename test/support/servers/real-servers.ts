import { type Callback, suite as plainSuite, type Test } from 'uvu';

/*
 * Real servers of a test run. `node test/run.ts` starts those named in the wanted files and passes
 * their addresses. Usage: `const { address, suite } = cassandraOrSkip();`, then `const journal =
 * suite('a journal on Cassandra');` as with uvu's own `suite`.
 */

/** A server, and a suite that skips without it. */
export type RealServer = {
  /** `host:port` or `nats://host:port`; empty if every suite skips its tests. */
  readonly address: string;
  /** uvu's `suite`; without the server, tests are skipped and hooks do not run. */
  readonly suite: typeof plainSuite;
};

/** Cassandra 5, common to all files: create a keyspace with a random name and drop it. */
export function cassandraOrSkip(): RealServer {
  return serverOrSkip('Cassandra', 'TEST_CASSANDRA');
}

/** NATS server, common to all files: use random subjects. */
export function natsOrSkip(): RealServer {
  return serverOrSkip('NATS', 'TEST_NATS');
}

/** Query API address of Jaeger, common to all files: look traces up by id. */
export function jaegerOrSkip(): RealServer {
  return serverOrSkip('Jaeger', 'TEST_JAEGER');
}

/** `host:port` of stripe-mock, common to all files; stateless. */
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
 * uvu's `suite`, or one that skips its tests with a reason if the machine lacks something. Throws
 * on CI, where nothing may be skipped.
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
