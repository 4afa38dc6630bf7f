import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A row of RELEASES.md. */
export type Release = { readonly version: string; readonly commit: string };

const ROWS = /^\| (?<version>\d+\.\d+\.\d+) \| `?(?<commit>[0-9a-f]{40})`? \|/gm;

/** The releases of the table, the newest first. */
export function releases(table = readFileSync('RELEASES.md', 'utf8')): Release[] {
  return [...table.matchAll(ROWS)].map(({ groups }) => ({
    version: groups?.['version'] ?? '',
    commit: groups?.['commit'] ?? '',
  }));
}

/** Why a commit of a release may be missing here through no fault of the table; undefined if it may not. */
export function historyLack(folder = '.'): string | undefined {
  const asked = ['-C', folder, 'rev-parse', '--is-shallow-repository'];
  const { stdout } = spawnSync('git', asked, { encoding: 'utf8' });
  if (stdout?.trim() === 'false') return undefined;
  return stdout?.trim() === 'true'
    ? 'the history of this clone is cut off: git fetch --unshallow'
    : 'there is no git history here';
}

/** Whether git knows the commit. */
export function isKnown(commit: string, folder = '.'): boolean {
  return spawnSync('git', ['-C', folder, 'cat-file', '-e', `${commit}^{commit}`]).status === 0;
}

/** Whether the present commit comes from that one. */
export function isInHistory(commit: string): boolean {
  return spawnSync('git', ['merge-base', '--is-ancestor', commit, 'HEAD']).status === 0;
}

/** The version in `package.json` of a commit. */
export function versionOf(commit: string): string {
  const asked = ['show', `${commit}:package.json`];
  return JSON.parse(spawnSync('git', asked, { encoding: 'utf8' }).stdout).version;
}
