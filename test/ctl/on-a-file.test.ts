import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ProcessRun, runMain, runScript } from '#test/support/process-run';
import { onFile } from '#test/support/servers/service';

const folder = mkdtempSync(join(tmpdir(), 'identity-engine-ctl-file-'));
const variablesOf = (path: string) => ({
  ...onFile(path),
  SERVICE_LOCAL_ACCOUNT: 'true',
});
const path = join(folder, 'identity-engine.db');
const ACCOUNT = 'localAccount';

/** Maximum time for all commands on a busy machine, in milliseconds. */
const SERVED_MS_MAX = 180_000;

async function startOn(file: string): Promise<ProcessRun> {
  const run = runMain(['standalone'], variablesOf(file), SERVED_MS_MAX);
  await run.says(/Ctrl-C/);
  return run;
}

async function end(run: ProcessRun): Promise<void> {
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0, run.stderr());
}

/** Runs `ctl` on a file until it exits, with waits of at most three seconds. */
async function ctlOn(file: string, ...argv: string[]) {
  // A different number of shards in the variables has no effect.
  const variables = { ...variablesOf(file), SERVICE_SHARDS: '16' };
  const run = runScript('test/support/calls/hasty-ctl.ts', argv, variables);
  return { code: await run.ended, out: run.stdout(), err: run.stderr() };
}

/** The output of a command. */
async function text(...argv: string[]): Promise<string> {
  const { code, out, err } = await ctlOn(path, ...argv);
  assert.is(code, 0, `${argv.join(' ')}: ${err}`);
  return out;
}

/** Creates an instance with one observation. Returns its id. */
async function observed(run: ProcessRun): Promise<string> {
  const key = /svc_sk_[0-9A-Za-z]{50}/.exec(run.stdout())?.[0] ?? '';
  const api = /API +(http:\S+)/.exec(run.stdout())?.[1];
  const post = async (to: string, body: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const answer = await fetch(`${api}${to}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    assert.ok(answer.ok, `${to}: ${answer.status}`);
    return JSON.parse(await answer.text()).data;
  };
  const { id } = await post('/instances', { name: 'Ada' });
  await post(`/instances/${id}/process`, { mode_target: 'ORDER', signal_strength: 0.7 });
  return id;
}

const beside = suite('ctl beside the process that serves a file');
let id = '';

beside('shows the content of the file, and refuses changes with the process id', async () => {
  const run = await startOn(path);
  id = await observed(run);
  const nodes = await text('nodes');
  assert.match(nodes, /engine /);
  assert.match(nodes, /shows the served state at \/cluster\.$/m);
  assert.match(await text('users', 'list', ACCOUNT), /USER/);
  for (const words of [['accounts', 'delete', ACCOUNT, '--yes'], ['vacuum']]) {
    const { code, err } = await ctlOn(path, ...words);
    assert.is(code, 1);
    const reason = `served by process ${run.child.pid}, since .*; stop that process first`;
    assert.match(err, new RegExp(`^ctl: [^\\n]*${reason}\\n$`));
  }
  const drained = await ctlOn(path, 'drain', 'engine');
  assert.match(drained.err, /there is no node for its shards/);
  // SIGKILL leaves a tail, which the next process must recover.
  run.child.kill('SIGKILL');
  await run.ended;
});

const alone = suite('ctl on a file that no process serves');

alone('reads the file, and starts an engine for commands that need an engine', async () => {
  assert.match((await ctlOn(path, 'instance', id)).err, /a running service stores new data/);
  const [{ incarnation }] = JSON.parse(await text('nodes', '--json'));
  assert.match(await text('journal', incarnation), `created "Ada" for ${ACCOUNT}`);
  assert.match(await text('usage', 'instances', ACCOUNT), new RegExp(`${id} +"Ada" +1`));
  assert.match(await text('webhooks', 'list', ACCOUNT), /^ENDPOINT +URL +STATE/);
  assert.match(await text('verify', id), /gives the head, bit for bit/);
  assert.match(await text('instance', id), /observations +1/);
});

const moved = suite('an account in a file');

moved('can be moved to another file and deleted from the first file', async () => {
  const exported = join(folder, 'account.ndjson');
  assert.match(await text('export', ACCOUNT, '--file', exported), /1 instance, 1 observation/);
  const other = join(folder, 'other.db');
  const made = runMain(['standalone'], { ...variablesOf(other), SERVICE_LOCAL_ACCOUNT: 'false' });
  await made.says(/Ctrl-C/);
  await end(made);
  const imported = await ctlOn(other, 'import', exported);
  assert.is(imported.code, 0, imported.err);
  assert.match((await ctlOn(other, 'verify', id)).out, /gives the head, bit for bit/);

  assert.match(await text('accounts', 'delete', ACCOUNT, '--yes'), /and 1 instance are deleted/);
  assert.match(await text('instance', id), /deleted/);
  const again = await ctlOn(path, 'export', ACCOUNT, '--file', join(folder, 'none'));
  assert.match(again.err, /there is no account/);
});

const closing = suite('the files of this test');
closing('are removed', () => rmSync(folder, { recursive: true }));

for (const group of [beside, alone, moved, closing]) group.run();
