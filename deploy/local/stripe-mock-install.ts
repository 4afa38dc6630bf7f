import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '#deploy/local/cache-folder';
import { goInstall } from '#deploy/local/go-install';
import { MissingServer } from '#deploy/local/missing-server';
import { programPath } from '#deploy/local/program-path';
import type { Print } from '#deploy/local/progress';

/** The version that is built: it has Stripe's whole API description in it. */
const VERSION = 'v0.203.0';
const NAME = 'stripe-mock';
const PATH = `github.com/stripe/${NAME}`;

/**
 * The file of stripe-mock, which answers as Stripe's API does and refuses what that would refuse: on
 * `PATH`, or from the cache. Nothing is fetched here. Throws `MissingServer`.
 */
export function foundStripeMock(): string {
  const onPath = programPath(NAME);
  if (onPath !== undefined) return onPath;
  const cached = join(cacheFolder(), `${NAME}-${VERSION}-go`, NAME);
  if (existsSync(cached)) return cached;
  throw new MissingServer('stripe-mock is not installed: make tools builds it');
}

/** The same; built by Go into the cache if it is not there. Throws `MissingServer`. */
export async function installedStripeMock(print: Print): Promise<string> {
  const onPath = programPath(NAME);
  if (onPath !== undefined) return onPath;
  return goInstall({ name: NAME, path: PATH, version: VERSION, binary: NAME }, print);
}
