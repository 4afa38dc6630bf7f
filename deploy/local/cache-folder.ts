import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where everything that is fetched is kept between runs: outside the repository, per user. */
export function cacheFolder(): string {
  const configured = process.env['XDG_CACHE_HOME'] ?? '';
  const root = configured === '' ? join(homedir(), '.cache') : configured;
  return join(root, 'identity-engine');
}
