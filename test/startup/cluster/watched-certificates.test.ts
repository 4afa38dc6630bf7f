import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '#config';
import { CredentialFiles, clusterSecretsOf, credentialsOf } from '#startup/process/secrets';
import { clientTlsOf, wireTlsOf } from '#startup/process/tls';
import { createLogger } from '#telemetry/logger';
import { createMetrics } from '#telemetry/metrics';
import { LookClock } from '#test/support/look-clock';
import { TEST_ORIGIN } from '#test/support/test-logger';

const CERTIFICATES = 'test/grpc/certificates';
const root = mkdtempSync(join(tmpdir(), 'rotated-'));

/** Expiry of the test certificates and authorities. Source: make.sh beside the certificates. */
const END_S = Date.UTC(2124, 0, 1) / 1_000;
const EXPIRED_END_S = Date.UTC(2024, 0, 2) / 1_000;

const pem = (from: string): string => readFileSync(join(CERTIFICATES, from), 'utf8');

/** A watched folder with a holder's files. */
function newScene(holder = 'member') {
  const folder = mkdtempSync(join(root, 'of-'));
  const take = (file: string, from: string) => cpSync(join(CERTIFICATES, from), join(folder, file));
  const takeAll = (from: string) => {
    for (const file of ['ca.crt', 'tls.crt', 'tls.key']) take(file, `${from}/${file}`);
  };
  takeAll(holder);
  const clock = new LookClock();
  const metrics = createMetrics();
  const lines: { level: string; msg: string; use?: string; why?: string }[] = [];
  const logger = createLogger('info', TEST_ORIGIN, {
    write: (line) => lines.push(JSON.parse(line)),
  });
  const credentials = new CredentialFiles({ clock, logger, metrics });
  const seriesOf = async (name: string) => {
    const { text } = await metrics.scrape();
    const series = text.split('\n').filter((line) => line.startsWith(`${name}{`));
    return series.map((line) => line.slice(name.length)).sort();
  };
  const put = (file: string, text: string) => writeFileSync(join(folder, file), text);
  return { folder, take, takeAll, put, clock, credentials, lines, seriesOf };
}

const engine = (folder: string) => readConfig({ SERVICE_TLS_FOLDER: folder });
const END = 'tls_certificate_expiry_timestamp_seconds';
const FAILURES = 'credential_reload_failures_total';

const reloaded = suite('certificates that are renewed while the process runs');

reloaded('are loaded, and metrics show the expiry of certificates and authorities', async () => {
  const { folder, takeAll, clock, credentials, lines, seriesOf } = newScene();
  const tls = wireTlsOf(engine(folder), { credentials, clock }, 'engine');
  assert.is(String(tls?.current.certificate), pem('member/tls.crt'));
  const ends = [`{use="wire"} ${END_S}`, `{use="wire_authority"} ${END_S}`];
  assert.equal(await seriesOf(END), ends);
  takeAll('stranger');
  await clock.looks();
  assert.is(String(tls?.current.certificate), pem('stranger/tls.crt'));
  assert.is(String(tls?.current.key), pem('stranger/tls.key'));
  assert.is(String(tls?.current.authority), pem('stranger/ca.crt'));
  assert.equal(await seriesOf(FAILURES), ['{use="wire"} 0']);
  assert.equal(
    lines.map(({ level, msg }) => `${level} ${msg}`),
    ['info changed files are now in use'],
  );
});

reloaded('may have several authorities, and metrics show the earliest expiry', async () => {
  const { folder, put, clock, credentials, seriesOf } = newScene();
  const tls = wireTlsOf(engine(folder), { credentials, clock }, 'engine');
  put('ca.crt', pem('stranger/ca.crt') + pem('member/ca.crt') + pem('expired/tls.crt'));
  await clock.looks();
  assert.match(
    String(tls?.current.authority),
    /(-----BEGIN CERTIFICATE-----[^-]+-----END[^B]+){3}/,
  );
  const ends = [`{use="wire"} ${END_S}`, `{use="wire_authority"} ${EXPIRED_END_S}`];
  assert.equal(await seriesOf(END), ends);
});

for (const [what, change, why] of [
  [
    'the key of another certificate',
    { 'tls.key': 'stranger/tls.key' },
    'tls.key is not the key of tls.crt',
  ],
  [
    'the certificate of another key',
    { 'tls.crt': 'stranger/tls.crt' },
    'tls.key is not the key of',
  ],
  [
    'a file without a certificate',
    { 'tls.crt': 'make.sh' },
    'tls.crt is not a PEM file of its kind',
  ],
  ['a key in place of an authority', { 'ca.crt': 'member/tls.key' }, 'ca.crt is not a PEM file'],
  [
    'a certificate of another role',
    { 'tls.crt': 'limiter/tls.crt', 'tls.key': 'limiter/tls.key' },
    'tls.crt is not for the DNS name engine.identity-engine',
  ],
  [
    'an expired certificate',
    { 'tls.crt': 'expired/tls.crt', 'tls.key': 'expired/tls.key' },
    'tls.crt has expired on',
  ],
  [
    'an authority that has not signed the certificate',
    { 'ca.crt': 'stranger/ca.crt' },
    'tls.crt is not signed by an authority in ca.crt',
  ],
] as const) {
  reloaded(`are kept, with a log line and a counter, after ${what}`, async () => {
    const { folder, take, takeAll, clock, credentials, lines, seriesOf } = newScene();
    const tls = wireTlsOf(engine(folder), { credentials, clock }, 'engine');
    const before = tls?.current;
    for (const [file, from] of Object.entries(change)) take(file, from);
    await clock.looks();
    await clock.look();
    assert.is(tls?.current, before);
    assert.equal(await seriesOf(FAILURES), ['{use="wire"} 2']);
    assert.is(lines.length, 1);
    const [line] = lines;
    assert.equal([line?.level, line?.use], ['warn', 'wire']);
    assert.ok(line?.why?.startsWith(`SERVICE_TLS_FOLDER: ${folder}/${why}`), line?.why);
    assert.match(line?.msg ?? '', /the previous content stays in use$/);
    takeAll('engine');
    await clock.looks();
    assert.is(String(tls?.current.certificate), pem('engine/tls.crt'));
  });
}

reloaded('are loaded even if the key arrives a poll after the certificate', async () => {
  const { folder, take, clock, credentials, lines } = newScene();
  const tls = wireTlsOf(engine(folder), { credentials, clock }, 'engine');
  take('tls.crt', 'engine/tls.crt');
  await clock.look();
  take('tls.key', 'engine/tls.key');
  await clock.looks();
  assert.is(String(tls?.current.certificate), pem('engine/tls.crt'));
  assert.equal(
    lines.map(({ level }) => level),
    ['info'],
  );
});

const clients = suite('client certificates for Cassandra and NATS');

clients('are renewed while the process runs', async () => {
  const { folder, takeAll, clock, credentials, seriesOf } = newScene();
  const config = readConfig({ SERVICE_CASSANDRA_TLS_FOLDER: folder });
  const tls = clientTlsOf(config, 'SERVICE_CASSANDRA_TLS_FOLDER', { credentials, clock });
  takeAll('stranger');
  await clock.looks();
  assert.is(tls?.current.authority, pem('stranger/ca.crt'));
  assert.is(tls?.current.own?.key, pem('stranger/tls.key'));
  const ends = [`{use="cassandra"} ${END_S}`, `{use="cassandra_authority"} ${END_S}`];
  assert.equal(await seriesOf(END), ends);
});

clients('are reported as missing if removed, but not if never present', async () => {
  const { folder, clock, credentials, lines, seriesOf } = newScene();
  const config = readConfig({ SERVICE_NATS_TLS_FOLDER: folder });
  const tls = clientTlsOf(config, 'SERVICE_NATS_TLS_FOLDER', { credentials, clock });
  for (const file of ['tls.crt', 'tls.key']) rmSync(join(folder, file));
  await clock.looks();
  assert.is(tls?.current.own?.certificate, pem('member/tls.crt'));
  assert.match(lines[0]?.why ?? '', /tls\.crt cannot be read \(ENOENT\)/);
  const other = newScene();
  for (const file of ['tls.crt', 'tls.key']) rmSync(join(other.folder, file));
  const without = readConfig({ SERVICE_NATS_TLS_FOLDER: other.folder });
  const silent = clientTlsOf(without, 'SERVICE_NATS_TLS_FOLDER', other);
  assert.is(silent?.current.own, undefined);
  assert.equal(await other.seriesOf(END), [`{use="nats_authority"} ${END_S}`]);
  assert.equal((await seriesOf(END)).length, 2);
  other.takeAll('stranger');
  await other.clock.looks();
  assert.is(silent?.current.own?.certificate, pem('stranger/tls.crt'));
});

const secrets = suite('a secret that changes while the process runs');

const [OLD, NEW] = ['8c9f0e5d27b146a3f0d1c2b3a4958677', '1b7e6d5c4f3a29180716253443526170'];

secrets('is loaded only if a start would accept the secret', async () => {
  const { folder, put, clock, credentials, lines, seriesOf } = newScene();
  put('secret', `${OLD}\n`);
  const config = readConfig({ SERVICE_CLUSTER_SECRET_FILE: join(folder, 'secret') });
  const reading = { credentials, service: 'engine' };
  const current = clusterSecretsOf(config, reading);
  assert.equal(current.current, [OLD]);
  for (const [text, expected] of [
    [`${OLD}\n${NEW}\n`, [OLD, NEW]],
    [`${NEW},${OLD}`, [NEW, OLD]],
    ['', [NEW, OLD]],
    ['hush', [NEW, OLD]],
    [`${NEW}\n`, [NEW]],
  ] as const) {
    put('secret', text);
    await clock.looks();
    assert.equal(current.current, expected);
  }
  assert.equal(await seriesOf(FAILURES), ['{use="cluster_secret"} 2']);
  const warnings = lines.filter(({ level }) => level === 'warn').map(({ why }) => why);
  const path = join(folder, 'secret');
  assert.equal(warnings, [
    `SERVICE_CLUSTER_SECRET_FILE: ${path} is empty`,
    `SERVICE_CLUSTER_SECRET_FILE: ${path}: must have at least 16 characters`,
  ]);
  for (const line of lines) {
    for (const secret of [OLD, NEW]) assert.not.match(JSON.stringify(line), secret);
  }
});

secrets('is rejected in production if it is guessable', async () => {
  const { folder, put, clock, credentials, lines } = newScene('edge');
  const path = join(folder, 'secret');
  put('secret', `${OLD}\n`);
  const config = readConfig({
    SERVICE_CLUSTER_SECRET_FILE: path,
    SERVICE_TLS_FOLDER: folder,
    SERVICE_ENVIRONMENT: 'production',
  });
  const current = clusterSecretsOf(config, { credentials, service: 'edge' });
  put('secret', `${'ab'.repeat(20)}\n`);
  await clock.looks();
  assert.equal(current.current, [OLD]);
  assert.match(lines[0]?.why ?? '', /^SERVICE_CLUSTER_SECRET_FILE: .+ guessable/);
});

secrets('is used with the same user name if it is a password', async () => {
  const { folder, put, clock, credentials } = newScene();
  put('password', 'first one\n');
  const config = readConfig({
    SERVICE_CASSANDRA_USERNAME: 'engine',
    SERVICE_CASSANDRA_PASSWORD_FILE: join(folder, 'password'),
  });
  const reading = { credentials, service: 'engine' };
  const shown = credentialsOf(config, 'SERVICE_CASSANDRA', reading);
  assert.equal(shown?.current, { username: 'engine', password: 'first one' });
  put('password', 'second one\n');
  await clock.looks();
  assert.equal(shown?.current, { username: 'engine', password: 'second one' });
});

secrets('may be given as two values in a variable instead of a file', () => {
  const { credentials } = newScene();
  const config = readConfig({ SERVICE_CLUSTER_SECRET: `${OLD},${NEW}` });
  const reading = { credentials, service: 'engine' };
  assert.equal(clusterSecretsOf(config, reading).current, [OLD, NEW]);
});

secrets.after(() => rmSync(root, { recursive: true }));

for (const each of [reloaded, clients, secrets]) each.run();
