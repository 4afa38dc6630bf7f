import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runToEnd } from '#test/runner/program';
import { type ProcessRun, runMain, testVariables } from '#test/support/process-run';
import { onFile } from '#test/support/servers/service';

const root = mkdtempSync(join(tmpdir(), 'identity-engine-file-'));
let folders = 0;

/** Path of a file in a missing folder. */
function newPath(): string {
  folders += 1;
  return join(root, `${folders}`, 'identity-engine.db');
}

/** Path of a file in an existing folder. */
function pathInFolder(): string {
  const path = newPath();
  mkdirSync(dirname(path));
  return path;
}

const variablesOf = (path: string) => ({
  ...onFile(path),
  SERVICE_LOCAL_ACCOUNT: 'true',
});

/** Starts a service on a file. Resolves when the service is ready. */
async function startOn(path: string): Promise<ProcessRun> {
  const run = runMain(['standalone'], variablesOf(path));
  await run.says(/Ctrl-C/);
  return run;
}

async function end(run: ProcessRun): Promise<void> {
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0, run.stderr());
}

/** Kills a process with SIGKILL, as a crash does. */
async function kill(run: ProcessRun): Promise<void> {
  run.child.kill('SIGKILL');
  assert.is(await run.ended, 'SIGKILL');
}

const keyOf = (run: ProcessRun) => /svc_sk_[0-9A-Za-z]{50}/.exec(run.stdout())?.[0] ?? '';

/** Calls the API and returns the answer's data. */
async function ask(run: ProcessRun, key: string, path: string, body?: object) {
  const api = /API +(http:\S+)/.exec(run.stdout())?.[1];
  const answer = await fetch(`${api}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${path}: ${answer.status} ${text}`);
  return JSON.parse(text).data;
}

const observed = { mode_target: 'ORDER', signal_strength: 0.7 };

const lasting = suite('a service on a file');

for (const [how, stop] of [
  ['was stopped', end],
  ['was killed', kill],
] as const) {
  lasting(`has all data after a restart if it ${how}`, async () => {
    const path = newPath();
    const first = await startOn(path);
    assert.match(first.stdout(), `Data is kept in the file ${path}.`);
    const key = keyOf(first);
    const { id } = await ask(first, key, '/instances', { name: 'Ada' });
    const { snapshot } = await ask(first, key, `/instances/${id}/process`, observed);
    const before = await ask(first, key, `/instances/${id}`);
    const used = (await ask(first, key, '/account')).usage.month;
    await stop(first);

    const second = await startOn(path);
    assert.equal(await ask(second, key, `/instances/${id}`), before);
    const history = await ask(second, key, `/instances/${id}/history`);
    assert.is(history.length, 1);
    assert.is(snapshot.cycle, 1);
    const usedThen = (await ask(second, key, '/account')).usage.month;
    assert.ok(usedThen.remaining <= used.remaining, 'used cycles stay used');
    assert.equal(
      second.stdout().match(/svc_sk_\S{50}/),
      null,
      'only the first start prints the key',
    );
    await end(second);
  });
}

lasting('gives no other user access to the file and the files beside it', async () => {
  const path = newPath();
  const run = await startOn(path);
  const mode = (name: string) => (statSync(name).mode & 0o777).toString(8);
  assert.is(mode(dirname(path)), '700');
  // The service creates the disk reserve a second later.
  while (!readdirSync(dirname(path)).includes(`${basename(path)}-reserve`)) await sleep(50);
  const names = readdirSync(dirname(path));
  for (const beside of ['-wal', '-shm', '-owner']) {
    assert.ok(names.includes(`${basename(path)}${beside}`), `${beside} in ${names}`);
  }
  for (const name of names) assert.is(mode(join(dirname(path), name)), '600', name);
  await kill(run);
});

lasting('locks its file, so that a second process names the first process and exits', async () => {
  const path = newPath();
  const first = await startOn(path);
  const line = await complaintOf(path);
  const since = String.raw`since \d{4}-\d\d-\d\dT[\d:.]+Z`;
  assert.match(line, new RegExp(`is served by process ${first.child.pid}, ${since}`));
  await kill(first);
  await end(await startOn(path));
});

/** The error line of a process that does not start on a file. */
async function complaintOf(path: string): Promise<string> {
  const run = runMain(['standalone'], variablesOf(path));
  assert.is(await run.ended, 1, run.stderr());
  assert.is(run.stdout(), '');
  const lines = run.stderr().trimEnd().split('\n');
  assert.is(lines.length, 1, run.stderr());
  const [line = ''] = lines;
  assert.match(line, /^configuration: SERVICE_SQLITE_FILE: .*identity-engine\.db/);
  return line;
}

const unusable = suite('a file that cannot be served');

/** File of a stopped service, which a test can damage. */
async function madeFile(): Promise<string> {
  const path = newPath();
  await end(await startOn(path));
  return path;
}

unusable('from another program is rejected with one line and unchanged', async () => {
  const path = pathInFolder();
  change(path, 'CREATE TABLE another (a)');
  const bytes = readFileSync(path);
  assert.match(await complaintOf(path), /is a SQLite file of another program$/);
  assert.ok(bytes.equals(readFileSync(path)));
});

unusable('that is not SQLite is rejected with one line and unchanged', async () => {
  for (const text of ['short', 'long text '.repeat(1_000)]) {
    const path = pathInFolder();
    writeFileSync(path, text);
    assert.match(await complaintOf(path), /is not an SQLite file$/);
    assert.is(readFileSync(path, 'utf8'), text);
  }
});

unusable('that is truncated is rejected with one line', async () => {
  const path = await madeFile();
  truncateSync(path, statSync(path).size - 5_000);
  assert.match(await complaintOf(path), /is truncated: \d+ of \d+ bytes exist$/);
});

unusable('without content is rejected with one line, and the files beside it stay', async () => {
  const path = newPath();
  await kill(await startOn(path));
  const wal = readFileSync(`${path}-wal`);
  assert.ok(wal.length > 0);
  truncateSync(path, 0);
  assert.match(
    await complaintOf(path),
    /is empty but had content before, because \S+-wal exists: /,
  );
  assert.ok(wal.equals(readFileSync(`${path}-wal`)));
  rmSync(`${path}-wal`);
  writeFileSync(`${path}-reserve`, 'room');
  assert.match(
    await complaintOf(path),
    /is empty but had content before, because \S+-reserve exists: /,
  );
  rmSync(`${path}-reserve`);
  await end(await startOn(path));
});

unusable('of a newer version is rejected with one line', async () => {
  const path = await madeFile();
  change(path, 'PRAGMA user_version = 99');
  assert.match(
    await complaintOf(path),
    /tables of version 99; .* use the newer release that wrote it$/,
  );
});

unusable('that is a folder, or below a file, is rejected with one line', async () => {
  const path = pathInFolder();
  mkdirSync(path);
  assert.match(await complaintOf(path), /cannot be used: EISDIR/);
  const file = pathInFolder();
  writeFileSync(file, '');
  assert.match(await complaintOf(join(file, 'identity-engine.db')), /cannot be used: E\w+/);
});

/** Runs a command without root's permission to write everywhere. */
const AS_USER = ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] as const;

/** The error line of a process with normal write permissions that does not start on a file. */
async function complaintOfUser(path: string): Promise<string> {
  if (process.getuid?.() !== 0) return await complaintOf(path);
  const [program, ...args] = [...AS_USER, process.execPath, 'services/main.ts', 'standalone'];
  const { code, text } = await runToEnd(program, args, {
    ...testVariables(),
    ...variablesOf(path),
  });
  assert.is(code, 1, text);
  const complaint = text.replace(/^\{.*\n/gm, '');
  assert.match(
    complaint,
    /^configuration: SERVICE_SQLITE_FILE: [^\n]*identity-engine\.db[^\n]*\n$/,
  );
  return complaint.trimEnd();
}

unusable('without write permission for file or folder is rejected with one line', async () => {
  const readOnly = await madeFile();
  chmodSync(readOnly, 0o400);
  assert.match(await complaintOfUser(readOnly), /cannot be used: EACCES/);
  const path = pathInFolder();
  chmodSync(dirname(path), 0o500);
  assert.match(await complaintOfUser(path), /cannot be used: EACCES/);
});

function change(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

const closing = suite('the files of this test');
closing('are removed', () => rmSync(root, { recursive: true }));

for (const group of [lasting, unusable, closing]) group.run();
