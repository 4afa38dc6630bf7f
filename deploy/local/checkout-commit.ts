import { spawnSync } from 'node:child_process';

/**
 * The commit of this checkout, for reports. Has the suffix `-dirty` after changes; `unknown`
 * without Git.
 */
export function checkoutCommit(): string {
  const args = ['describe', '--always', '--dirty', '--abbrev=8', '--exclude', '*'];
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : 'unknown';
}
