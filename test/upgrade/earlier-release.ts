import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { historyLack, isKnown, releases } from '#test/release/release-table';

/** Timeout of a checkout and its installation, in milliseconds. */
const INSTALL_MS_MAX = 120_000;

/** Commit to upgrade from, or the reason why there is none. */
export type EarlierRelease =
  | { readonly kind: 'commit'; readonly version: string; readonly commit: string }
  | { readonly kind: 'lacking'; readonly why: string };

/** The current commit, which tests the upgrade procedure before the first release. */
const UNRELEASED = { version: 'HEAD', commit: 'HEAD' };

/**
 * Newest release of RELEASES.md, or `UPGRADE_FROM`. Throws if a complete history lacks the commit.
 */
export function earlierRelease(table?: string, folder = '.'): EarlierRelease {
  const chosen = process.env['UPGRADE_FROM'];
  const [release] = chosen === undefined ? releases(table) : [{ version: chosen, commit: chosen }];
  const { version, commit } = release ?? UNRELEASED;
  if (isKnown(commit, folder)) return { kind: 'commit', version, commit };
  const lack = historyLack(folder);
  if (lack === undefined) throw new Error(`release ${version}: there is no commit ${commit}`);
  return { kind: 'lacking', why: `release ${version} is not available: ${lack}` };
}

/**
 * Checks out a commit into its own folder, with its packages. Uses the packages of this checkout if
 * the lockfiles agree.
 */
export function checkedOut(commit: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  const archive = ['archive', '--format=tar', commit, '--', 'services', 'proto'];
  const packages = ['package.json', 'package-lock.json', '.npmrc'];
  const files = execFileSync('git', [...archive, ...packages], { maxBuffer: 64 * 1_024 * 1_024 });
  execFileSync('tar', ['-x', '-C', folder], { input: files });
  if (packagesOf(folder) === packagesOf('.'))
    symlinkSync(resolve('node_modules'), `${folder}/node_modules`);
  else execFileSync('npm', ['ci', '--omit=dev'], { cwd: folder, timeout: INSTALL_MS_MAX });
  return folder;
}

/** Packages of a lockfile, without the project's own version, which every release changes. */
function packagesOf(root: string): string {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const { '': own, ...packages } = lock.packages;
  return JSON.stringify([packages, { ...own, version: undefined }]);
}
