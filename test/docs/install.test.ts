import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '#deploy/local/servers/free-port';

const run = promisify(execFile);

/** Ports in the document, with the environment variables that replace each port. */
const PORTS: Record<string, (port: number) => Record<string, string>> = {
  8000: (port) => ({ SERVICE_PORT: `${port}` }),
  8001: (port) => ({
    SERVICE_ADMIN_PORT: `${port}`,
    SERVICE_ADMIN_URL: `http://127.0.0.1:${port}`,
  }),
  8002: (port) => ({ SERVICE_CONSOLE_PORT: `${port}` }),
  8100: (port) => ({
    SERVICE_ENGINE_LISTEN: `127.0.0.1:${port}`,
    SERVICE_ENGINE_ADDRESS: `127.0.0.1:${port}`,
  }),
  8200: (port) => ({
    SERVICE_LIMITER_LISTEN: `127.0.0.1:${port}`,
    SERVICE_LIMITER_ADDRESS: `127.0.0.1:${port}`,
  }),
  9464: (port) => ({ SERVICE_METRICS_PORT: `${port}` }),
  9465: () => ({}),
  9466: () => ({}),
};

const RUN_MS_MAX = 60_000;

/** Longer limiter timeout, for a busy machine. */
const LONG_TIMEOUT = { SERVICE_LIMITER_TIMEOUT_MS: '5000' };

/** Shell commands that stop all processes when the shell exits. */
const AT_END = 'set -em; trap "kill %1 %2 %3 2>/dev/null; wait" EXIT';

const install = suite('the commands of docs/install.md');

install('start three processes and create a working key', async () => {
  const text = readFileSync('docs/install.md', 'utf8');
  const [, chapter = ''] = /^## Three processes\n([\s\S]*?)^## /m.exec(text) ?? [];
  const blocks = [...chapter.matchAll(/^```(sh)?\n([\s\S]*?)^```$/gm)];
  let script = blocks.flatMap(([, language, code]) => (language === 'sh' ? [code] : [])).join('\n');
  let answers = blocks.flatMap(([, language, code]) => (language === 'sh' ? [] : [code])).join('');
  const env: Record<string, string | undefined> = { ...process.env, ...LONG_TIMEOUT };
  for (const [named, variables] of Object.entries(PORTS)) {
    const port = await freePort();
    script = script.replaceAll(named, `${port}`);
    answers = answers.replaceAll(named, `${port}`);
    Object.assign(env, variables(port));
  }
  const { stdout } = await run('bash', ['-c', `${AT_END}\n${script}`], {
    env,
    timeout: RUN_MS_MAX,
  });
  const lines = answers.trim().split('\n');
  assert.is(lines.length, 4);
  for (const line of lines)
    assert.ok(stdout.includes(line.split('…')[0] ?? ''), `${line}\n${stdout}`);
});

install.run();
