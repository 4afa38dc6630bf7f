import { once } from 'node:events';
import { chmodSync, mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { suite as plainSuite } from 'uvu';
import * as assert from 'uvu/assert';
import { installedNats } from '#deploy/local/install/nats';
import { printNothing } from '#deploy/local/progress';
import { freePort } from '#deploy/local/servers/free-port';
import { startServer } from '#deploy/local/servers/local-server';
import { type Manifest, manifestsIn, ofKind } from '#test/kubernetes/manifest';
import { runCommand } from '#test/kubernetes/run-command';
import { natsOrSkip } from '#test/support/servers/real-servers';

const SCRIPT = 'deploy/kubernetes/make-secrets.sh';
const NATS_SETTINGS = 'deploy/kubernetes/overlays/local/nats.conf';

const READY_MS_MAX = 20_000;
const ANSWER_MS_MAX = 2_000;

/** Fake kubectl for a cluster without secrets; prints created objects. */
const KUBECTL = '#!/bin/sh\ncase "$*" in *" get "*) exit 1 ;; *) echo ---; cat ;; esac\n';

/** Fake kubectl for a cluster whose secrets are from a release without consoles; prints changes. */
const KUBECTL_OF_BEFORE = `#!/bin/sh
case "$*" in
  *" get "*data.console*) ;;
  *" get "*) echo there ;;
  *" patch "*) echo "--- # $*"; cat /dev/stdin ;;
  *) exit 1 ;;
esac
`;

/** Random hexadecimal texts that NATS would parse as numbers. */
const NUMBERS = ['3e55', '12345678', '0'];

/** Secrets that the script creates in an empty cluster. `random` replaces the random numbers. */
async function madeSecrets(random?: string): Promise<Readonly<Record<string, Secret>>> {
  const made = ofKind(manifestsIn(await scriptOutput(KUBECTL, random)), 'Secret');
  return Object.fromEntries(
    (made as (Manifest & { stringData: Secret })[]).map(({ metadata, stringData }) => [
      metadata.name,
      stringData,
    ]),
  );
}

/** Output of the script with this program as `kubectl`. */
async function scriptOutput(kubectl: string, random?: string): Promise<string> {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'identity-engine-secrets-'));
  const program = (name: string, text: string): void => {
    const file = join(folder.path, name);
    writeFileSync(file, text);
    chmodSync(file, 0o755);
  };
  program('kubectl', kubectl);
  if (random !== undefined) program('openssl', `#!/bin/sh\necho ${random}\n`);
  const PATH = `${folder.path}${delimiter}${process.env['PATH']}`;
  const { isOk, out, err } = await runCommand('sh', [SCRIPT, 'anywhere'], { env: { PATH } });
  assert.ok(isOk, err);
  return out;
}

type Secret = Readonly<Record<string, unknown>>;

const secrets = plainSuite('the secrets of make-secrets.sh');

secrets('are random, distinct, and YAML strings', async () => {
  const made = await madeSecrets();
  assert.equal(Object.keys(made), ['cluster-secret', 'nats-passwords', 'cassandra-password']);
  const values = Object.values(made).flatMap((secret) => Object.values(secret));
  assert.is(new Set(values).size, 7);
  for (const value of values) assert.match(String(value), /^n?[0-9a-f]{64}$/);
});

secrets('contain NATS passwords that do not start like a number', async () => {
  for (const random of [undefined, ...NUMBERS]) {
    const { 'nats-passwords': passwords = {} } = await madeSecrets(random);
    assert.equal(Object.keys(passwords), ['edge', 'engine', 'limiter', 'console', 'ctl']);
    for (const password of Object.values(passwords)) assert.match(String(password), /^n[0-9a-f]+$/);
  }
});

secrets('are strings in the manifest, even if they look like numbers', async () => {
  for (const random of NUMBERS) {
    const values = Object.values(await madeSecrets(random)).flatMap((each) => Object.values(each));
    for (const value of values) assert.type(value, 'string');
  }
});

secrets('gain missing keys and keep existing keys', async () => {
  const out = await scriptOutput(KUBECTL_OF_BEFORE);
  const changes = out.split('\n').filter((line) => !/^secret\/\S+ exists$|^$/.test(line));
  const [what = '', , value = '', ...others] = changes;
  assert.match(what, / patch secret nats-passwords /);
  assert.match(value, /^ {2}console: "n[0-9a-f]{64}"$/);
  assert.equal(others, []);
});

secrets.run();

const { suite } = natsOrSkip();
const nats = suite("NATS with the local overlay's settings");

for (const random of NUMBERS) {
  nats(`starts and accepts every role if the random number is ${random}`, async () => {
    const { 'nats-passwords': passwords = {} } = await madeSecrets(random);
    const env = Object.fromEntries(
      Object.entries(passwords).map(([role, password]) => [
        `${role.toUpperCase()}_PASSWORD`,
        String(password),
      ]),
    );
    using folder = mkdtempDisposableSync(join(tmpdir(), 'identity-engine-nats-'));
    const port = await freePort();
    await using _server = await startServer(
      { folder: join(folder.path, 'state'), logFolder: folder.path },
      {
        name: 'nats',
        program: await installedNats(printNothing),
        args: ['--addr', '127.0.0.1', '--port', `${port}`, '--config', resolve(NATS_SETTINGS)],
        env,
        address: `nats://127.0.0.1:${port}`,
        readyMsMax: READY_MS_MAX,
        ask: () => answerTo(port, 'engine', passwords['engine']),
      },
    );
    for (const [role, password] of Object.entries(passwords)) {
      assert.is(await answerTo(port, role, password), 'PONG', role);
      assert.match(await answerTo(port, role, `${password}0`), 'Authorization Violation');
    }
  });
}

/** The server's answer to a ping from this user. */
async function answerTo(port: number, user: string, pass: unknown): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port });
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  try {
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    socket.write(`CONNECT ${JSON.stringify({ verbose: false, user, pass })}\r\nPING\r\n`);
    for (;;) {
      const answer = /^(?:PONG|-ERR .*)(?=\r\n)/m.exec(text)?.[0];
      if (answer !== undefined) return answer;
      await once(socket, 'data', { signal });
    }
  } finally {
    socket.destroy();
  }
}

nats.run();
