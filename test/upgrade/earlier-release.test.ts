import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { earlierRelease } from '#test/upgrade/earlier-release';

const TABLE = '| Version | Commit | Date |\n|---|---|---|\n';

let folder = '';

const git = (...args: readonly string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.example', ...args], {
    cwd: folder,
    encoding: 'utf8',
  }).trim();

/** Creates an empty commit in a repository below the folder. */
function commit(repository: string, subject: string): string {
  git('-C', repository, 'commit', '--quiet', '--allow-empty', '--message', subject);
  return git('-C', repository, 'rev-parse', 'HEAD');
}

const naming = suite('the release to upgrade from');
let chosen: string | undefined;

naming.before(() => {
  chosen = process.env['UPGRADE_FROM'];
  delete process.env['UPGRADE_FROM'];
  folder = mkdtempSync(join(tmpdir(), 'history-'));
  git('init', '--quiet', 'whole');
});
naming.after(() => {
  if (chosen !== undefined) process.env['UPGRADE_FROM'] = chosen;
  rmSync(folder, { recursive: true, force: true });
});

naming('is the current commit if the table is empty', () => {
  assert.equal(earlierRelease(TABLE), { kind: 'commit', version: 'HEAD', commit: 'HEAD' });
});

naming('is the first row of the table', () => {
  const [older, newer] = [commit('whole', 'release 1.0.0'), commit('whole', 'release 1.1.0')];
  const table = `${TABLE}| 1.1.0 | \`${newer}\` | |\n| 1.0.0 | \`${older}\` | |\n`;
  const found = earlierRelease(table, `${folder}/whole`);
  assert.equal(found, { kind: 'commit', version: '1.1.0', commit: newer });
});

naming('is missing with a reason if a shallow clone lacks the commit', () => {
  const released = commit('whole', 'release 1.2.0');
  commit('whole', 'the next one');
  git('clone', '--quiet', '--depth', '1', `file://${folder}/whole`, 'shallow');
  const found = earlierRelease(`${TABLE}| 1.2.0 | \`${released}\` | |\n`, `${folder}/shallow`);
  assert.is(found.kind, 'lacking');
  assert.match(JSON.stringify(found), /release 1\.2\.0 is not available: .*git fetch --unshallow/);
});

naming('causes an error if a complete history lacks the commit', () => {
  const table = `${TABLE}| 1.3.0 | \`${'ab'.repeat(20)}\` | |\n`;
  const asked = () => earlierRelease(table, `${folder}/whole`);
  assert.throws(asked, /release 1\.3\.0: there is no commit abab/);
});

naming.run();
