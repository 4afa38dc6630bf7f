import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { outputOf } from '../../../deploy/local/processes/run-program.ts';
import { buildPackage } from '../../../deploy/packages/packages.ts';
import { closedAddress } from '../../typescript/test/support/fake-server.ts';
import {
  call,
  connectCommand,
  connectHttp,
  newScene,
  startHttp,
  type Variables,
} from './support/mcp.ts';

/*
 * Tests the package as users install it, with the blocks of the README, the official inspector and
 * the official conformance suite.
 */

const HERE = new URL('..', import.meta.url).pathname;
const TOOLS = join(HERE, 'node_modules/.bin');

/** Timeout per program, build or installation, in milliseconds. */
const RUN_MS_MAX = 180_000;

const REPOSITORY = 'https://git.example/owner/name';

/** Scenarios of the conformance suite that need no tools or resources of the suite. */
const SCENARIOS = [
  ...['server-initialize', 'ping', 'tools-list', 'resources-list', 'prompts-list'],
  'dns-rebinding-protection',
];

const execute = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'identity-engine-mcp-'));
const program = join(folder, 'node_modules/.bin/identity-engine-mcp');
const installed = join(folder, 'node_modules/identity-engine-mcp');
const readme = readFileSync(join(HERE, 'README.md'), 'utf8');

/** Blocks of JSON in the README. */
const blocks = [...readme.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);

const run = (program: string, args: readonly string[], folder: string): Promise<string> =>
  outputOf({ program, args, folder, msMax: RUN_MS_MAX });

const packed = suite('the package');

packed.before(async () => {
  const options = { repository: REPOSITORY, out: folder };
  const client = await buildPackage('typescript', options);
  const tarballs = [...client, ...(await buildPackage('mcp', options))];
  writeFileSync(join(folder, 'package.json'), '{"name":"of-a-user","private":true}');
  const flags = ['--silent', '--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts'];
  await run('npm', ['install', ...flags, ...tarballs], folder);
});

packed('has types, and its tests too', async () => {
  await run(join(TOOLS, 'tsc'), ['-p', 'clients/mcp'], '.');
  await run('node_modules/.bin/tsc', ['-p', 'clients/mcp/test'], '.');
});

packed('passes publint, and has the files and dependencies of a release', async () => {
  await run(join(TOOLS, 'publint'), ['--strict', installed], HERE);
  const files = readdirSync(installed).sort();
  assert.equal(files, ['CHANGELOG.md', 'README.md', 'dist', 'package.json']);
  const { version, dependencies } = JSON.parse(
    readFileSync(join(installed, 'package.json'), 'utf8'),
  );
  assert.is(dependencies['identity-engine'], `^${version}`);
  const service = JSON.parse(readFileSync('package.json', 'utf8'));
  const client = JSON.parse(readFileSync('clients/typescript/package.json', 'utf8'));
  assert.equal([version, client.version], [service.version, service.version]);
  assert.is(await run(program, ['--version'], folder), `${version}\n`);
});

packed('works with the block of the README for stdio', async () => {
  const { variables } = await newScene();
  const { command, args, env } = JSON.parse(blocks[0] ?? '').mcpServers['identity-engine'];
  assert.equal([command, args], ['npx', ['-y', 'identity-engine-mcp']]);
  assert.equal(Object.keys(env).toSorted(), Object.keys(variables).toSorted());
  await using connection = await connectCommand('modern', program, [], variables);
  assert.is((await call(connection, 'status')).cycle, 0);
});

packed('works with the block of the README for HTTP', async () => {
  const { service, caller, id } = await newScene();
  await using server = await startHttp({ IDENTITY_ENGINE_BASE_URL: service.api });
  const block = (blocks[1] ?? '')
    .replace('http://127.0.0.1:8010/mcp', server.url)
    .replace('inst_…', id)
    .replace('svc_sk_…', caller.key);
  const { url, headers } = JSON.parse(block).mcpServers['identity-engine'];
  await using connection = await connectHttp('legacy', url, headers);
  assert.is((await call(connection, 'status')).cycle, 0);
});

packed.run();

/** Runs the inspector on the installed server. Resolves to exit code and output. */
async function inspect(era: string, variables: Variables, ...args: readonly string[]) {
  const env = Object.entries(variables).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  const cli = ['--cli', program, '--protocol-era', era, ...env, ...args];
  const running = execute(process.execPath, [join(TOOLS, 'mcp-inspector'), ...cli]);
  return await running.then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    ({ code, stdout, stderr }) => ({ code, output: `${stdout}${stderr}` }),
  );
}

for (const era of ['legacy', 'modern']) {
  const inspector = suite(`the inspector in the ${era} era`);

  inspector('lists, calls and reads', async () => {
    const { variables, id } = await newScene();
    const uri = `identity://instances/${id}/contract`;
    const observed = ['--tool-arg', 'mode_target=ORDER', '--tool-arg', 'signal_strength=0.5'];
    for (const [args, said] of [
      [['--method', 'tools/list'], '"observe"'],
      [['--method', 'resources/list'], uri],
      [['--method', 'resources/read', '--uri', uri], 'allowed_actions'],
      [['--method', 'prompts/get', '--prompt-name', 'identity'], 'How you work just now'],
      [['--method', 'tools/call', '--tool-name', 'observe', ...observed], 'applied'],
      [
        ['--method', 'tools/call', '--tool-name', 'may_i', '--tool-arg', 'actions=explore'],
        '"verdict"',
      ],
    ] as const) {
      const { code, output } = await inspect(era, variables, ...args);
      assert.is(code, 0, output);
      assert.match(output, said);
    }
  });

  inspector(
    'gets exit code 5 for invalid arguments, a wrong key and an absent service',
    async () => {
      const { variables } = await newScene();
      const status = ['--method', 'tools/call', '--tool-name', 'status'];
      const invalid = [
        '--method',
        'tools/call',
        '--tool-name',
        'may_i',
        '--tool-arg',
        'actions=dance',
      ];
      const key = 'svc_sk_of_the_tests';
      const wrong = { ...variables, IDENTITY_ENGINE_API_KEY: key };
      const absent = { ...variables, IDENTITY_ENGINE_BASE_URL: await closedAddress() };
      for (const [given, args, said] of [
        [variables, invalid, 'Invalid arguments'],
        [wrong, status, '401 unauthorized'],
        [absent, status, 'The service does not answer'],
      ] as const) {
        const { code, output } = await inspect(era, given, ...args);
        assert.is(code, 5, output);
        assert.match(output, said);
        assert.not.match(output, key);
      }
    },
  );

  inspector.run();
}

const conformance = suite('the conformance suite');

for (const scenario of SCENARIOS) {
  conformance(`finds no failure in ${scenario}`, async () => {
    const { variables } = await newScene();
    await using server = await startHttp(variables);
    const args = ['server', '--url', server.url, '--scenario', scenario];
    const output = await run(process.execPath, [join(TOOLS, 'conformance'), ...args], folder);
    assert.match(output, /Passed: ([1-9]\d*)\/\1, 0 failed, 0 warnings/);
  });
}

conformance.after(() => rmSync(folder, { recursive: true }));

conformance.run();
