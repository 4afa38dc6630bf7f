import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '#deploy/local/install/cache-folder';
import { goInstall } from '#deploy/local/install/go-install';
import { MissingServer } from '#deploy/local/install/missing-server';
import { programPath } from '#deploy/local/install/program-path';
import type { Print } from '#deploy/local/progress';

/** Version to build, which contains Stripe's whole API description. */
const VERSION = 'v0.203.0';
const NAME = 'stripe-mock';
const PATH = `github.com/stripe/${NAME}`;

/**
 * Path of stripe-mock, which answers and refuses like Stripe's API: from `PATH` or the cache.
 * Builds nothing. Throws `MissingServer`.
 */
export function foundStripeMock(): string {
  const onPath = programPath(NAME);
  if (onPath !== undefined) return onPath;
  const cached = join(cacheFolder(), `${NAME}-${VERSION}-go`, NAME);
  if (existsSync(cached)) return cached;
  throw new MissingServer('stripe-mock is not installed: run make tools');
}

/** Like `foundStripeMock`, but builds a missing program with Go into the cache. */
export async function installedStripeMock(print: Print): Promise<string> {
  const onPath = programPath(NAME);
  if (onPath !== undefined) return onPath;
  return goInstall({ name: NAME, path: PATH, version: VERSION, binary: NAME }, print);
}
