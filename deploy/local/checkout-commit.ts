import { spawnSync } from 'node:child_process';

/**
 * The commit of this checkout, for reports. The suffix `-dirty` means uncommitted changes;
 * `unknown` means no Git.
 */
export function checkoutCommit(): string {
  const args = ['describe', '--always', '--dirty', '--abbrev=8', '--exclude', '*'];
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : 'unknown';
}
