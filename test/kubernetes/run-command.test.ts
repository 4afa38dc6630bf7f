import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runCommand } from '#test/kubernetes/run-command';

const command = suite('when a command of the manifests’ test is run');

command('what it wrote and how it ended is answered', async () => {
  const script = 'read line; echo "$line $WORD"; echo wrong >&2; exit 3';
  const given = { input: 'one\n', env: { WORD: 'two' } };
  const answer = await runCommand('sh', ['-c', script], given);
  assert.equal(answer, { isOk: false, out: 'one two\n', err: 'wrong\n' });
});

command('one that hangs is ended with what it has started, and says so', async () => {
  const begunMs = performance.now();
  const { isOk, out, err } = await runCommand('sh', ['-c', 'echo begun; sleep 60; echo over'], {
    msMax: 300,
  });
  assert.not.ok(isOk);
  assert.is(out, 'begun\n');
  assert.is(err, 'sh was ended after 300 ms');
  assert.ok(performance.now() - begunMs < 20_000, 'it did not wait for the sleep');
});

command('one that is not there is refused by name', async () => {
  const error = await runCommand('no-such-program', []).catch((reason: Error) => reason);
  assert.match((error as Error).message, /no-such-program/);
});

command('CI has brought what the script of the secrets runs', () => {
  const script = readFileSync('deploy/kubernetes/make-secrets.sh', 'utf8');
  const ci = readFileSync('.ci/run', 'utf8');
  assert.match(script, /\bopenssl rand\b/);
  assert.match(ci, /^command -v openssl >\/dev\/null \|\| missing\+=\(openssl\)$/m);
});

command.run();
