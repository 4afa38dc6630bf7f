import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { VERIFY_SAMPLES } from '#pages/webhooks/verify-samples';
import { formatSecret, signedHeaders } from '#webhooks/signature';

const KEY = Buffer.alloc(32, 7);
const BODY = '{"type":"events","data":[{"type":"created","instance_id":"inst_1"}]}';
const [[, node], [, python]] = VERIFY_SAMPLES;

/** Time for a sample to start, in milliseconds. */
const START_MS_MAX = 20_000;

/** First line that a sample prints and that matches. */
async function lineOf({ stdout, stderr }: ChildProcess, pattern: RegExp): Promise<string> {
  let text = '';
  stderr?.on('data', (bytes: Buffer) => {
    text += bytes;
  });
  const signal = AbortSignal.timeout(START_MS_MAX);
  while (!pattern.test(text)) {
    assert.ok(stdout);
    const [bytes] = await once(stdout, 'data', { signal }).catch(() => [assert.unreachable(text)]);
    text += bytes;
  }
  return text;
}

/** Starts a sample that prints its port, and sends a signed and a changed message. */
async function assertVerifies(command: string, args: readonly string[]): Promise<void> {
  const env = { ...process.env, WEBHOOK_SECRET: formatSecret(KEY) };
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    const port = /port (\d+)/.exec(await lineOf(child, /port \d+\n/))?.[1];
    const headers = signedHeaders({ id: 'msg_1', body: BODY }, [KEY], Date.now());
    const send = async (body: string) => {
      const signal = AbortSignal.timeout(START_MS_MAX);
      const url = `http://127.0.0.1:${port}/`;
      return (await fetch(url, { method: 'POST', headers, body, signal })).status;
    };
    assert.is(await send(`${BODY} `), 400, 'a changed body is refused');
    assert.is(await send(BODY), 204);
    assert.match(await lineOf(child, /inst_1/), /created inst_1/);
  } finally {
    child.kill('SIGKILL');
  }
}

const samples = suite('the receiver that the page shows');

samples('verifies messages in Node.js', async () => {
  const listening = 'server.listen(0, () => console.log("port", server.address().port));';
  const program = node.replace('server.listen(8080);', listening);
  assert.is.not(program, node);
  await assertVerifies(process.execPath, ['--input-type=module', '--eval', program]);
});

// Skipped without the library, which is no dependency of this project.
samples('verifies messages in Python', async () => {
  const { status } = spawnSync('python3', ['-c', 'import standardwebhooks']);
  if (status !== 0) return;
  const program = python
    .replace('("", 8080)', '("127.0.0.1", 0)')
    .replace('server.serve_forever()', 'print("port", server.server_port, flush=True)\n$&');
  await assertVerifies('python3', ['-c', program]);
});

samples.run();
