import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runCommand } from '#test/kubernetes/run-command';

const command = suite('when `runCommand` runs a program');

command('its output and exit status are returned', async () => {
  const script = 'read line; echo "$line $WORD"; echo wrong >&2; exit 3';
  const given = { input: 'one\n', env: { WORD: 'two' } };
  const answer = await runCommand('sh', ['-c', script], given);
  assert.equal(answer, { isOk: false, out: 'one two\n', err: 'wrong\n' });
});

command('a hanging program is killed with its children, and reported', async () => {
  const begunMs = performance.now();
  const { isOk, out, err } = await runCommand('sh', ['-c', 'echo begun; sleep 60; echo over'], {
    msMax: 300,
  });
  assert.not.ok(isOk);
  assert.is(out, 'begun\n');
  assert.is(err, 'sh was killed after 300 ms');
  assert.ok(performance.now() - begunMs < 20_000, 'runCommand must not wait for the sleep');
});

command('a missing program is reported by name', async () => {
  const error = await runCommand('no-such-program', []).catch((reason: Error) => reason);
  assert.match((error as Error).message, /no-such-program/);
});

const tools = suite('CI');
tools('installs openssl, which make-secrets.sh runs', () => {
  const script = readFileSync('deploy/kubernetes/make-secrets.sh', 'utf8');
  const ci = readFileSync('.ci/run', 'utf8');
  assert.match(script, /\bopenssl rand\b/);
  assert.match(ci, /^command -v openssl >\/dev\/null \|\| missing\+=\(openssl\)$/m);
});

for (const each of [command, tools]) each.run();
