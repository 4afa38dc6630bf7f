import { homedir } from 'node:os';
import { join } from 'node:path';

/** Folder for all installed programs: per user, outside the repository, kept between runs. */
export function cacheFolder(): string {
  const configured = process.env['XDG_CACHE_HOME'] ?? '';
  const root = configured === '' ? join(homedir(), '.cache') : configured;
  return join(root, 'identity-engine');
}
