import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ConfigError, describeVariables, readConfig } from '#config';
import { SECRET_LINES_MAX } from '#stdlib/variables';
import { runMain } from '#test/support/process-run';

const folder = mkdtempSync(join(tmpdir(), 'secret-files-'));
const VARIABLES = [
  'SERVICE_CASSANDRA_PASSWORD',
  'SERVICE_NATS_PASSWORD',
  'SERVICE_CLUSTER_SECRET',
  'SERVICE_OTLP_HEADERS',
  'SERVICE_BILLING_WEBHOOK_SECRET',
] as const;
/** Secrets that may have two values. */
const PAIRS: readonly string[] = ['SERVICE_CLUSTER_SECRET', 'SERVICE_BILLING_WEBHOOK_SECRET'];
const SECRET = 'a=secret of a test in a file';

/** Creates a file with this content, or with a function that gets the path. */
function fileOf(content: string | Uint8Array | ((path: string) => void)): string {
  const path = join(mkdtempSync(join(folder, 'of-')), 'secret');
  if (typeof content === 'function') content(path);
  else writeFileSync(path, content);
  return path;
}

function complaintAbout(variables: Record<string, string>): string {
  try {
    readConfig(variables);
  } catch (error) {
    assert.instance(error, ConfigError);
    return (error as ConfigError).message;
  }
  return assert.unreachable() as never;
}

const file = suite('when a secret is in a file');

file('the file is accepted for every password and secret', () => {
  const secrets = describeVariables()
    .map(({ name }) => name)
    .filter((name) => /(SECRET|PASSWORD|HEADERS)$/.test(name));
  assert.equal(secrets.sort(), [...VARIABLES].sort());
  // The Stripe key is included, with its own format.
  assert.ok('SERVICE_BILLING_API_KEY' in SECRET_LINES_MAX);
  for (const { name } of describeVariables()) assert.not.match(name, /_TOKEN$/);
});

for (const variable of VARIABLES) {
  file(`the content is the value of ${variable}, without the last line break`, () => {
    for (const ending of ['', '\n', '\r\n']) {
      const config = readConfig({ [`${variable}_FILE`]: fileOf(`${SECRET}${ending}`) });
      assert.is(String(config[variable]), SECRET);
    }
  });
}

file('other white space belongs to the secret', () => {
  const config = readConfig({ SERVICE_NATS_PASSWORD_FILE: fileOf(' with blanks  \n') });
  assert.is(config.SERVICE_NATS_PASSWORD, ' with blanks  ');
});

file('the file may be a symbolic link, as with orchestrators', () => {
  const link = fileOf((path) => symlinkSync(fileOf(SECRET), path));
  assert.equal(readConfig({ SERVICE_CLUSTER_SECRET_FILE: link }).SERVICE_CLUSTER_SECRET, [SECRET]);
});

file('the file may have two cluster secrets, separated by a comma', () => {
  const path = fileOf('the old one of two secrets,the new one of two secrets\n');
  const { SERVICE_CLUSTER_SECRET: secrets } = readConfig({ SERVICE_CLUSTER_SECRET_FILE: path });
  assert.equal(secrets, ['the old one of two secrets', 'the new one of two secrets']);
});

file('the file may have two cluster secrets on two lines', () => {
  for (const end of ['\n', '\r\n']) {
    const path = fileOf(`the new one of two secrets${end}the old one of two secrets${end}`);
    const { SERVICE_CLUSTER_SECRET: secrets } = readConfig({ SERVICE_CLUSTER_SECRET_FILE: path });
    assert.equal(secrets, ['the new one of two secrets', 'the old one of two secrets']);
  }
});

const useless = suite('when the file of a secret is unusable');

const USELESS = [
  ['missing', () => undefined, 'cannot be read (ENOENT)'],
  ['a broken link', (path: string) => symlinkSync(`${path}-gone`, path), '(ENOENT)'],
  ['a folder', (path: string) => mkdirSync(path), 'is no file'],
  ['a device', (path: string) => symlinkSync('/dev/zero', path), 'is no file'],
  ['empty', '', 'is empty'],
  ['empty except for a line break', '\n', 'is empty'],
  ['three lines long', 'first line of it\nsecond line of it\nthird line of it\n', ' of text'],
  ['a text with a NUL', 'sixteen letters\0\0', 'must hold one line of text'],
  ['binary', Uint8Array.of(0xff, 0xfe, 0x00, 0x01), 'is not UTF-8 text'],
  ['too large', 'x'.repeat(4_097), 'has more than 4096 bytes'],
] as const;

for (const [what, content, why] of USELESS) {
  for (const variable of VARIABLES) {
    useless(`${variable} is rejected in one line if the file is ${what}`, () => {
      const path = fileOf(content);
      const message = complaintAbout({ [`${variable}_FILE`]: path });
      assert.ok(message.startsWith(`${variable}_FILE: ${path} `), message);
      assert.ok(message.endsWith(why), message);
      assert.not.match(message, /\n|first line|letters/);
    });
  }
}

for (const variable of VARIABLES.filter((name) => !PAIRS.includes(name))) {
  useless(`${variable} is rejected in one line if the file has two lines`, () => {
    const path = fileOf('first line of it\nsecond line\n');
    const message = complaintAbout({ [`${variable}_FILE`]: path });
    assert.is(message, `${variable}_FILE: ${path} must hold one line of text`);
  });
}

for (const [what, content, why] of [
  ['three lines', `${SECRET}\n${SECRET}\n${SECRET}\n`, ' must hold at most 2 lines of text'],
  ['an empty second line', `${SECRET}\n\n`, ': must have at least 16 characters'],
  ['a short second line', `${SECRET}\nhush\n`, ': must have at least 16 characters'],
] as const) {
  useless(`a cluster secret is rejected in one line if the file has ${what}`, () => {
    const path = fileOf(content);
    const message = complaintAbout({ SERVICE_CLUSTER_SECRET_FILE: path });
    assert.is(message, `SERVICE_CLUSTER_SECRET_FILE: ${path}${why}`);
  });
}

useless('an unreadable file is rejected by name', () => {
  // Root can read every file.
  if (process.getuid?.() === 0) return;
  const path = fileOf(SECRET);
  chmodSync(path, 0);
  const message = complaintAbout({ SERVICE_NATS_PASSWORD_FILE: path });
  assert.is(message, `SERVICE_NATS_PASSWORD_FILE: ${path} cannot be read (EACCES)`);
});

useless('an invalid value is rejected with the file name, without the value', () => {
  const path = fileOf('hush\n');
  const message = complaintAbout({ SERVICE_CLUSTER_SECRET_FILE: path });
  assert.is(message, `SERVICE_CLUSTER_SECRET_FILE: ${path}: must have at least 16 characters`);
});

useless('the file is rejected if the variable itself is set too', () => {
  const variables = { SERVICE_NATS_PASSWORD: 'one', SERVICE_NATS_PASSWORD_FILE: fileOf('other') };
  assert.match(complaintAbout(variables), /^SERVICE_NATS_PASSWORD_FILE: SERVICE_NATS_PASSWORD is /);
});

useless('an empty file name is rejected', () => {
  const message = complaintAbout({ SERVICE_CLUSTER_SECRET_FILE: '' });
  assert.match(message, /^SERVICE_CLUSTER_SECRET_FILE: /);
});

for (const part of ['standalone', 'edge', 'engine', 'limiter', 'migrate', 'ctl'] as const) {
  useless(`${part} exits with 1 and a one-line error`, async () => {
    const path = fileOf('');
    const run = runMain([part], { SERVICE_CLUSTER_SECRET_FILE: path });
    assert.is(await run.ended, 1);
    assert.is(run.stdout(), '');
    const line = `configuration: SERVICE_CLUSTER_SECRET_FILE: ${path} is empty\n`;
    assert.is(run.stderr(), line);
  });
}

useless.after(() => rmSync(folder, { recursive: true }));

for (const each of [file, useless]) each.run();
