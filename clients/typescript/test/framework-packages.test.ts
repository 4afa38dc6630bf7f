import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildPackage } from '../../../deploy/packages/packages.ts';
import { newCaller } from '../../../test/support/calls/caller.ts';
import { startStandalone } from '../../../test/support/servers/service.ts';
import { answer, FakeServer } from './support/fake-server.ts';

/*
 * Tests the adapters as users install them: the package in an empty project, with and without the
 * frameworks. Runs the examples against a real service, with a scripted model and with a fake of a
 * provider, and the common tests with the oldest supported versions.
 */

const HERE = new URL('..', import.meta.url).pathname;

/** Timeout per program, build or installation, in milliseconds. */
const RUN_MS_MAX = 120_000;

const ADAPTERS = { 'ai-sdk': 'ai', langchain: 'langchain', 'openai-agents': '@openai/agents' };

/** Packages that the examples import. */
const INSTALLED = [
  ...['@ai-sdk/openai', '@langchain/core', '@langchain/openai', '@openai/agents'],
  ...['ai', 'langchain', 'zod'],
];

const folder = mkdtempSync(join(tmpdir(), 'identity-engine-frameworks-'));
const service = await startStandalone();
const { key } = await newCaller(service);

const packed = suite('the package beside agent frameworks');

packed.before(async () => {
  const [tarball = ''] = await buildPackage('typescript', {
    repository: 'https://git.example/owner/name',
    out: folder,
  });
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  const quiet = ['--silent', '--no-audit', '--no-fund', '--offline'];
  await run('npm', ['install', ...quiet, tarball], folder);
});

packed.after(async () => {
  rmSync(folder, { recursive: true });
  await service[Symbol.asyncDispose]();
});

for (const [adapter, framework] of Object.entries(ADAPTERS)) {
  packed(`names the missing ${framework} at the import of ${adapter}`, async () => {
    const program = `await import('identity-engine/${adapter}').catch((e) => console.log(e.message))`;
    const output = await run(process.execPath, ['-e', program], folder);
    assert.ok(output.includes(`Cannot find package '${framework}'`), output);
  });
}

packed('compiles with the frameworks of the examples and the documents', async () => {
  for (const name of INSTALLED) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(HERE, 'node_modules', name), link);
  }
  for (const adapter of Object.keys(ADAPTERS)) {
    cpSync(join(HERE, 'examples', `${adapter}.ts`), join(folder, `${adapter}.ts`));
  }
  const snippets = snippetsOf(readFileSync(resolve('docs/agents.md'), 'utf8'));
  assert.is(snippets.length, Object.keys(ADAPTERS).length);
  for (const [index, snippet] of snippets.entries()) {
    assert.ok(snippet.trim().split('\n').length <= 10, snippet);
    writeFileSync(join(folder, `snippet-${index}.ts`), `${snippet}\n${DECLARED}`);
  }
  const files = [
    ...Object.keys(ADAPTERS).map((name) => `${name}.ts`),
    ...snippets.map((_, index) => `snippet-${index}.ts`),
  ];
  const types = ['--types', 'node', '--typeRoots', join(HERE, 'node_modules/@types')];
  // The types of some frameworks have errors of their own.
  const options = ['--strict', '--noEmit', '--skipLibCheck', '--exactOptionalPropertyTypes'];
  const how = ['--target', 'es2022', '--module', 'nodenext'];
  await run(join(HERE, 'node_modules/.bin/tsc'), [...options, ...how, ...types, ...files], folder);
});

for (const adapter of Object.keys(ADAPTERS)) {
  packed(`runs examples/${adapter}.ts, whose agent stops to deploy`, async () => {
    const output = await run(process.execPath, [`${adapter}.ts`], folder, envOf());
    assert.match(output, /^1: Two deployments failed\.$/m);
    assert.match(output, /^8: I may not deploy\. Please help\.$/m);
  });

  packed(`runs examples/${adapter}.ts with a provider`, async () => {
    await using provider = await FakeServer.start(answer(200, COMPLETION));
    const more = { OPENAI_API_KEY: 'key', OPENAI_BASE_URL: provider.baseUrl };
    const output = await run(process.execPath, [`${adapter}.ts`, '1'], folder, envOf(more));
    assert.is(output.trim(), '1: hello');
    const [request] = provider.received;
    assert.is(request?.path, '/v1/chat/completions');
    assert.match(JSON.stringify(request?.body), /You deploy the site.*How you work just now/);
    assert.match(JSON.stringify(request?.body), /"tools":\[.*"name":"deploy"/);
  });
}

packed('passes the common tests with the oldest supported frameworks', async () => {
  const stage = mkdtempSync(join(tmpdir(), 'identity-engine-oldest-'));
  const client = join(stage, 'clients/typescript');
  for (const part of ['src', 'test']) {
    cpSync(join(HERE, part), join(client, part), { recursive: true });
  }
  symlinkSync(resolve('node_modules'), join(stage, 'node_modules'));
  const { peerDependencies, devDependencies } = JSON.parse(
    readFileSync(join(HERE, 'package.json'), 'utf8'),
  );
  const oldest = Object.entries<string>(peerDependencies).map(([name, range]) => {
    return `${name}@${/\d+\.\d+\.\d+/.exec(range)?.[0]}`;
  });
  const others = ['@langchain/core', '@langchain/langgraph', 'zod'];
  const packages = [...oldest, ...others.map((name) => `${name}@${devDependencies[name]}`)];
  writeFileSync(join(client, 'package.json'), '{"private":true,"type":"module"}');
  const quiet = ['--silent', '--no-audit', '--no-fund', '--ignore-scripts'];
  await run('npm', ['install', ...quiet, ...packages], client);
  const output = await run(process.execPath, ['test/adapters.test.ts'], client);
  rmSync(stage, { recursive: true });
  assert.match(output, /Skipped:\s+0/);
});

/** Names that the snippets of the documents use. */
const DECLARED = `
declare const [agent, prompt, runId]: [import('identity-engine').Agent, string, string];
declare const model: never;
declare const tools: import('ai').ToolSet & never[];
`;

/** Answer of a provider with the API of OpenAI. */
const COMPLETION = {
  ...{ id: 'c', object: 'chat.completion', created: 1_800_000_000, model: 'gpt' },
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hello' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

/** TypeScript programs in the section about frameworks. */
function snippetsOf(text: string): string[] {
  const [, section = ''] = /^### TypeScript\n([\s\S]*?)(?=^##+ |$(?![\s\S]))/m.exec(text) ?? [];
  return [...section.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, program = '']) => program);
}

function envOf(more: Readonly<Record<string, string>> = {}) {
  const { PATH } = process.env;
  return { PATH, IDENTITY_ENGINE_API_KEY: key, IDENTITY_ENGINE_BASE_URL: service.api, ...more };
}

/** Runs a program and resolves to its output. Rejects with the complete output if it fails. */
async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  try {
    const options = { cwd, env, timeout: RUN_MS_MAX };
    return (await promisify(execFile)(command, args, options)).stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(' ')}: ${stderr}${stdout}`, { cause: error });
  }
}

packed.run();
