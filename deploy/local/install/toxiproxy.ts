import { goInstall } from '#deploy/local/install/go-install';
import { programPath } from '#deploy/local/install/program-path';
import type { Print } from '#deploy/local/progress';

/** Version to build. The program prints no version, so the cache folder's name has the version. */
const VERSION = 'v2.5.0';

/**
 * Path of `toxiproxy-server`, a TCP fault proxy: from `PATH`, or built by Go into the cache. Throws
 * `MissingServer`.
 */
export async function installedToxiproxy(print: Print): Promise<string> {
  const onPath = programPath('toxiproxy-server');
  if (onPath !== undefined) return onPath;
  const path = 'github.com/Shopify/toxiproxy/v2/cmd/server';
  return goInstall({ name: 'toxiproxy', path, version: VERSION, binary: 'server' }, print);
}
