import * as assert from 'uvu/assert';
import { type ClientOptions, IdentityEngine } from '../../src/identity-engine.ts';
import type { FakeServer } from './fake-server.ts';

/** API key for fake servers. */
export const KEY = 'svc_sk_of_the_tests';

/** A client of a fake server, with the key `KEY`. */
export function clientOf(server: Pick<FakeServer, 'baseUrl'>, options: ClientOptions = {}) {
  return new IdentityEngine({ apiKey: KEY, baseUrl: server.baseUrl, ...options });
}

/** Returns the rejection of a promise and checks its class. */
export async function rejection<T>(
  promise: Promise<unknown>,
  expected: abstract new (...parameters: never[]) => T,
): Promise<T> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof expected) return error;
    throw error;
  }
  return assert.unreachable(`nothing was thrown instead of ${expected.name}`) as never;
}
