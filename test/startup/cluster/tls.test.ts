import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { adminClient } from '#grpc/admin';
import { systemClock as clock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { newCaller } from '#test/support/calls/caller';
import { createInstance, observationAt, process } from '#test/support/calls/scene';
import { addressIn, runMain } from '#test/support/process-run';
import { type Service, startProcesses } from '#test/support/servers/service';
import { refusalOf } from '#test/support/settled';

const CERTIFICATES = 'test/grpc/certificates';
const MEMBER = join(CERTIFICATES, 'member');

/** A folder with these certificate files. Disposal removes the folder. */
function folderOf(files: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-tls-'));
  for (const [file, from] of Object.entries(files)) {
    cpSync(join(CERTIFICATES, from), join(folder, file));
  }
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

/** Asserts that a process with these files ends with a one-line error that names the variable. */
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

const unusable = suite('unusable certificates');

for (const [what, files, complaint] of [
  ['without a key', KEYLESS, /tls\.key cannot/],
  ['with a file that is no PEM', { ...OURS, 'ca.crt': 'make.sh' }, /ca\.crt is not a PEM file/],
  [
    'with the key of another certificate',
    { ...OURS, 'tls.key': 'stranger/tls.key' },
    /is not the key of tls\.crt/,
  ],
  ['for another DNS name', allOf('misnamed'), /not for the DNS name engine\.identity-engine/],
  ['that have expired', allOf('expired'), /has expired on Jan {2}2 00:00:00 2024 GMT/],
] as const) {
  unusable(`${what} end a process with a one-line error`, async () => {
    await assertRefused('engine', 'SERVICE_TLS_FOLDER', files, complaint);
  });
}

for (const [part, holder] of [
  ['edge', 'engine'],
  ['engine', 'limiter'],
  ['limiter', 'edge'],
  ['engine', 'ctl'],
] as const) {
  unusable(`of role ${holder} end a process of role ${part}`, async () => {
    const complaint = new RegExp(`not for the DNS name ${part}\\.identity-engine`);
    await assertRefused(part, 'SERVICE_TLS_FOLDER', allOf(holder), complaint);
  });
}

for (const [what, files, complaint] of [
  ['without an authority', UNTRUSTING, /ca\.crt cannot/],
  ['with a certificate but no key', KEYLESS, /tls\.key cannot/],
  ['that have expired', allOf('expired'), /has expired/],
] as const) {
  for (const [variable, role, further] of [
    ['SERVICE_CASSANDRA_TLS_FOLDER', 'engine', { SERVICE_STORAGE: 'cassandra' }],
    ['SERVICE_NATS_TLS_FOLDER', 'edge', { SERVICE_NATS_URL: 'nats://127.0.0.1:4222' }],
  ] as const) {
    unusable(`${what} in ${variable} end a process with a one-line error`, async () => {
      await assertRefused(role, variable, files, complaint, further);
    });
  }
}

const served = suite('edge, engine and limiter with certificates');

served('serve as without certificates', async () => {
  await using service = await startProcesses({ SERVICE_TLS_FOLDER: MEMBER });
  const caller = await newCaller(service);
  const id = await createInstance(caller);
  assert.is((await process(caller, id, observationAt(0))).snapshot.cycle, 1);
});

served('serve with one certificate per role', async () => {
  const as = (role: string) => ({ SERVICE_TLS_FOLDER: join(CERTIFICATES, role) });
  const engine = runMain(['engine'], as('engine'));
  const limiter = runMain(['limiter'], as('limiter'));
  await Promise.all([engine.says(/ready/), limiter.says(/ready/)]);
  const edge = runMain(['edge'], {
    ...as('edge'),
    SERVICE_CLUSTER_SECRET: 'the secret of this test',
    SERVICE_ENGINE_ADDRESS: addressIn(engine, 'grpc'),
    SERVICE_LIMITER_ADDRESS: addressIn(limiter, 'grpc'),
    SERVICE_LIMITER_TIMEOUT_MS: '5000',
  });
  await edge.says(/ready/);
  const service = { api: addressIn(edge, 'api'), adminUrl: addressIn(limiter, 'admin') };
  const caller = await newCaller(service as Service);
  const id = await createInstance(caller);
  assert.is((await process(caller, id, observationAt(0))).snapshot.cycle, 1);
  for (const run of [edge, engine, limiter]) {
    run.child.kill('SIGTERM');
    assert.is(await run.ended, 0, run.stderr());
  }
});

served('refuse, count and log calls that the role of the caller does not permit', async () => {
  const engine = runMain(['engine'], { SERVICE_TLS_FOLDER: join(CERTIFICATES, 'engine') });
  await engine.says(/ready/);
  const file = (name: string) => readFileSync(join(CERTIFICATES, 'edge', name));
  const shown = { authority: file('ca.crt'), certificate: file('tls.crt'), key: file('tls.key') };
  const tls = unchanging(shown);
  for (let attempts = 0; attempts < 2; attempts += 1) {
    const node = adminClient(addressIn(engine, 'grpc'), { timeoutMs: 5_000, clock, tls });
    assert.match((await refusalOf(() => node.drain())).message, /Admin\/Drain is not for edge/);
  }
  const text = await (await fetch(addressIn(engine, 'metrics'))).text();
  const counted =
    'rpc_server_refused_total{rpc_method="/identity_engine.v1.Admin/Drain",role="edge"} 2';
  assert.ok(text.includes(counted), text);
  const lines = engine.stderr().trimEnd().split('\n');
  assert.is(lines.length, 1, engine.stderr());
  const { level, method, callerRole: role } = JSON.parse(lines[0] ?? '');
  assert.equal([level, method, role], ['warn', '/identity_engine.v1.Admin/Drain', 'edge']);
  engine.child.kill('SIGTERM');
  assert.is(await engine.ended, 0, engine.stderr());
});

served('refuse a client without a certificate', async () => {
  const engine = runMain(['engine'], { SERVICE_TLS_FOLDER: MEMBER });
  await engine.says(/ready/);
  const address = addressIn(engine, 'grpc');
  const edge = runMain(['edge'], {
    SERVICE_CLUSTER_SECRET: 'the secret of this test',
    SERVICE_ENGINE_ADDRESS: address,
    SERVICE_LIMITER_ADDRESS: address,
  });
  await edge.says(/waiting/);
  const waits = edge.log().filter(({ msg }) => msg.startsWith('waiting'));
  assert.is(waits[0]?.['missing'], `the engine at ${address} and the limiter at ${address}`);
  for (const run of [edge, engine]) {
    run.child.kill('SIGTERM');
    assert.is(await run.ended, 0, run.stderr());
  }
});

for (const each of [unusable, served]) each.run();

/** All certificate files of a holder. */
function allOf(who: string): Record<string, string> {
  const files = ['ca.crt', 'tls.crt', 'tls.key'];
  return Object.fromEntries(files.map((file) => [file, `${who}/${file}`]));
}
