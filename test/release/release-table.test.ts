import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fixtureVersions } from '#test/release/fixture-folders';
import { historyLack, isInHistory, releases, versionOf } from '#test/release/release-table';
import { suiteUnless } from '#test/support/servers/real-servers';

const rows = releases();

const table = suite('the releases in RELEASES.md');

table('are read with version and commit, newest first', () => {
  const commits = ['ab', 'cd'].map((digits) => digits.repeat(20));
  const text = `| 1.1.0 | \`${commits[0]}\` | 2026-12-24 |\n| 1.0.0 | ${commits[1]} | 2026-11-24 |\n`;
  assert.equal(releases(`| Version | Commit | Date |\n|---|---|---|\n${text}`), [
    { version: '1.1.0', commit: commits[0] },
    { version: '1.0.0', commit: commits[1] },
  ]);
});

table('all have fixtures', () => {
  const versions = fixtureVersions();
  const without = rows.filter(({ version }) => !versions.includes(version));
  assert.equal(without, []);
});

const history = suiteUnless(rows.length === 0 ? undefined : historyLack());
const commits = history('the commits in RELEASES.md');

commits('are ancestors of the current commit, and contain the version of their row', () => {
  for (const { version, commit } of rows) {
    assert.ok(isInHistory(commit), `${commit} of ${version} is no ancestor of this commit`);
    assert.is(versionOf(commit), version);
  }
});

for (const each of [table, commits]) each.run();
