import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A row of RELEASES.md. */
export type Release = { readonly version: string; readonly commit: string };

const ROWS = /^\| (?<version>\d+\.\d+\.\d+) \| `?(?<commit>[0-9a-f]{40})`? \|/gm;

/** Releases in the table, newest first. */
export function releases(table = readFileSync('RELEASES.md', 'utf8')): Release[] {
  return [...table.matchAll(ROWS)].map(({ groups }) => ({
    version: groups?.['version'] ?? '',
    commit: groups?.['commit'] ?? '',
  }));
}

/**
 * Reason why a release commit may be missing, such as a shallow clone. Undefined if every release
 * commit must exist.
 */
export function historyLack(folder = '.'): string | undefined {
  const asked = ['-C', folder, 'rev-parse', '--is-shallow-repository'];
  const { stdout } = spawnSync('git', asked, { encoding: 'utf8' });
  if (stdout?.trim() === 'false') return undefined;
  return stdout?.trim() === 'true'
    ? 'this clone is shallow; run git fetch --unshallow'
    : 'this folder has no git history';
}

/** Whether git has the commit. */
export function isKnown(commit: string, folder = '.'): boolean {
  return spawnSync('git', ['-C', folder, 'cat-file', '-e', `${commit}^{commit}`]).status === 0;
}

/** Whether the commit is an ancestor of the current commit. */
export function isInHistory(commit: string): boolean {
  return spawnSync('git', ['merge-base', '--is-ancestor', commit, 'HEAD']).status === 0;
}

/** Version in a commit's `package.json`. */
export function versionOf(commit: string): string {
  const asked = ['show', `${commit}:package.json`];
  return JSON.parse(spawnSync('git', asked, { encoding: 'utf8' }).stdout).version;
}
