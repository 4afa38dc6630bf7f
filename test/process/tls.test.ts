import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newCaller } from '#test/support/caller';
import { addressIn, runMain } from '#test/support/process-run';
import { createInstance, observationAt, process } from '#test/support/scene';
import { startProcesses } from '#test/support/service';

const CERTIFICATES = 'test/wire/certificates';
const MEMBER = join(CERTIFICATES, 'member');

/** A folder with these files of those processes, until disposed. */
function folderOf(files: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-tls-'));
  for (const [file, from] of Object.entries(files)) {
    cpSync(join(CERTIFICATES, from), join(folder, file));
  }
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

/** Asserts that a folder of these files ends a process with one line that names its variable. */
async function assertRefused(
  role: string,
  variable: string,
  files: Record<string, string>,
  complaint: RegExp,
  further: Record<string, string> = {},
): Promise<void> {
  using place = folderOf(files);
  const run = runMain([role], {
    SERVICE_CLUSTER_SECRET: 'the secret of this test',
    ...further,
    [variable]: place.folder,
  });
  assert.is(await run.ended, 1, run.stderr());
  assert.match(run.stderr(), new RegExp(`^configuration: ${variable}: .+\\n$`));
  assert.match(run.stderr(), complaint);
}

const OURS = allOf('member');
const { 'tls.key': _, ...KEYLESS } = OURS;
const { 'ca.crt': __, ...UNTRUSTING } = KEYLESS;

const unusable = suite('certificates that are of no use');

for (const [what, files, complaint] of [
  ['without a key', KEYLESS, /tls\.key cannot/],
  ['with something else', { ...OURS, 'ca.crt': 'make.sh' }, /ca\.crt is not what its name says/],
  ['with another’s key', { ...OURS, 'tls.key': 'stranger/tls.key' }, /is not the key of tls\.crt/],
  ['for another name', allOf('misnamed'), /not for the DNS name identity-engine/],
  ['of the past', allOf('expired'), /has expired on Jan {2}2 00:00:00 2024 GMT/],
] as const) {
  unusable(`${what} end a process with one line that says so`, async () => {
    await assertRefused('engine', 'SERVICE_TLS_FOLDER', files, complaint);
  });
}

for (const [what, files, complaint] of [
  ['that names no authority', UNTRUSTING, /ca\.crt cannot/],
  ['with a certificate but no key', KEYLESS, /tls\.key cannot/],
  ['of the past', allOf('expired'), /has expired/],
] as const) {
  for (const [variable, role, further] of [
    ['SERVICE_CASSANDRA_TLS_FOLDER', 'engine', { SERVICE_STORAGE: 'cassandra' }],
    ['SERVICE_NATS_TLS_FOLDER', 'edge', { SERVICE_NATS_URL: 'nats://127.0.0.1:4222' }],
  ] as const) {
    unusable(`${what} in ${variable} do likewise`, async () => {
      await assertRefused(role, variable, files, complaint, further);
    });
  }
}

const served = suite('edge, engine and limiter with certificates');

served('serve as without', async () => {
  await using service = await startProcesses({ SERVICE_TLS_FOLDER: MEMBER });
  const caller = await newCaller(service);
  const id = await createInstance(caller);
  assert.is((await process(caller, id, observationAt(0))).snapshot.cycle, 1);
});

served('let nobody in who shows none', async () => {
  const engine = runMain(['engine'], { SERVICE_TLS_FOLDER: MEMBER });
  await engine.says(/ready/);
  const address = addressIn(engine, 'grpc');
  const edge = runMain(['edge'], {
    SERVICE_CLUSTER_SECRET: 'the secret of this test',
    SERVICE_ENGINE_ADDRESS: address,
    SERVICE_LIMITER_ADDRESS: address,
  });
  await edge.says(/waiting/);
  assert.is(edge.stderr(), `waiting for the engine at ${address} and the limiter at ${address}\n`);
  for (const run of [edge, engine]) {
    run.child.kill('SIGTERM');
    assert.is(await run.ended, 0, run.stderr());
  }
});

for (const each of [unusable, served]) each.run();

/** All that a process has. */
function allOf(who: string): Record<string, string> {
  const files = ['ca.crt', 'tls.crt', 'tls.key'];
  return Object.fromEntries(files.map((file) => [file, `${who}/${file}`]));
}
