import { spawnSync } from 'node:child_process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { codeSamples } from '#pages/instance/code-samples';
import { INSTANCE_ID } from '#test/console/pages/instance/reports';

/** An observation with text that is hard to quote in source code. */
const OBSERVATION = {
  mode_target: 'ORDER',
  signal_strength: 0.7,
  confidence: 1,
  context: {
    text: `it's "quoted" \\ $HOME \`id\` \n \${x} '''`,
    yes: true,
    no: false,
    none: null,
    list: [1, -0.5, 'é😀'],
  },
};

/** Request body that each sample must send. */
const SENT = JSON.parse(JSON.stringify(OBSERVATION));

const ADDRESS = 'http://127.0.0.1:8000/v1';

const URL_SENT = `${ADDRESS}/instances/${INSTANCE_ID}/process`;

const [curl, typescript, python] = codeSamples(ADDRESS, INSTANCE_ID, OBSERVATION).map(
  ({ text }) => text,
);

const samples = suite('the code samples for an observation');

samples('send exactly the same body with curl in a shell', () => {
  // Prints the arguments that the shell passes to curl, instead of sending a request.
  const script = `curl() { printf '%s\\0' "$@"; }\n${curl}`;
  const { stdout } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
  const given = stdout.split('\0');
  assert.equal(given.slice(0, 3), ['-X', 'POST', URL_SENT]);
  assert.ok(given.includes('Authorization: Bearer YOUR_API_KEY'));
  assert.equal(JSON.parse(given[given.indexOf('-d') + 1] ?? ''), SENT);
});

samples('send exactly the same body in TypeScript', async () => {
  type Sent = { url: string; init: { method: string; headers: object; body: string } };
  let sent: Sent | undefined;
  const response = { json: async () => ({ data: { drift: { level: 'D0' } } }), headers: new Map() };
  const answering = async (url: string, init: Sent['init']) => {
    sent = { url, init };
    return response;
  };
  const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor;
  await new AsyncFunction('fetch', 'console', typescript)(answering, { log: () => undefined });
  assert.equal([sent?.url, sent?.init.method], [URL_SENT, 'POST']);
  assert.equal(JSON.parse(sent?.init.body ?? ''), SENT);
});

samples('build exactly the same body in Python', () => {
  const { status } = spawnSync('python3', ['--version']);
  if (status !== 0) return;
  const built = python?.split('with urllib')[0];
  const script = `${built}\nprint(request.full_url, request.get_method())\nprint(request.data.decode())`;
  const { stdout, stderr } = spawnSync('python3', ['-c', script], { encoding: 'utf8' });
  const [line, body] = stdout.split('\n');
  assert.is(line, `${URL_SENT} POST`, stderr);
  assert.equal(JSON.parse(body ?? ''), SENT);
});

samples.run();
