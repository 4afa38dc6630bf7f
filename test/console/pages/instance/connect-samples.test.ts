import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectSamples } from '#pages/instance/connect-samples';
import { type Caller, newCaller } from '#test/support/calls/caller';
import { makeEnvironment, pythonLack } from '#test/support/servers/python';
import { suiteUnless } from '#test/support/servers/real-servers';
import { sharedService } from '#test/support/servers/service';

/* Runs the code that the page shows, as shown, against a real service. */

/** Timeout for a program, in milliseconds. Frameworks take seconds to load. */
const RUN_MS_MAX = 60_000;

/** Text that the fake model answers. */
const ANSWER = 'the site is deployed';

/** Lets a program import the TypeScript client from its source. */
const CLIENT_HOOK = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  const source = ${JSON.stringify(pathToFileURL(resolve('clients/typescript/src/')).href)};
  registerHooks({
    resolve(name, context, next) {
      const [, adapter] = /^identity-engine(\\/.+)?$/.exec(name) ?? [undefined, undefined];
      if (!name.startsWith('identity-engine')) return next(name, context);
      const file = adapter === undefined ? '/identity-engine' : '/adapters' + adapter;
      return next(source + file + '.ts', context);
    },
  });`)}`;

type Program = {
  readonly program: string;
  readonly args: readonly string[];
  readonly folder?: string;
};

/** Runs a program, and returns its standard output. Fails if the program fails. */
async function outputOf(
  { program, args, folder = '.' }: Program,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const signal = AbortSignal.timeout(RUN_MS_MAX);
  const child = spawn(program, args, { cwd: folder, env: { ...process.env, ...env }, signal });
  const texts = { out: '', err: '' };
  child.stdout.on('data', (part: Buffer) => {
    texts.out += part;
  });
  child.stderr.on('data', (part: Buffer) => {
    texts.err += part;
  });
  const [status] = await once(child, 'close');
  assert.is(status, 0, `${texts.err}\n${texts.out}`);
  return texts.out;
}

/** A provider whose model answers every call with `ANSWER`, in both protocols of OpenAI. */
async function startProvider(): Promise<AsyncDisposable & { readonly url: string }> {
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const message = {
    ...{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' },
    content: [{ type: 'output_text', text: ANSWER, annotations: [] }],
  };
  const response = {
    ...{ id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-5-mini' },
    ...{ status: 'completed', output: [message], usage },
  };
  const completion = {
    ...{ id: 'chat_1', object: 'chat.completion', created: 1, model: 'gpt-5-mini' },
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: ANSWER } }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
  const server = createServer((request, answer) => {
    request.resume();
    answer.setHeader('content-type', 'application/json');
    const isChat = request.url?.endsWith('/chat/completions') === true;
    answer.end(JSON.stringify(isChat ? completion : response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A new instance of a real service, and the samples for it. */
async function openInstance() {
  const service = await sharedService();
  const caller = await newCaller(service);
  const { body } = await caller.send('POST', '/instances', { json: { name: 'Ada' } });
  const id: string = body.data.id;
  const samples = new Map(
    connectSamples(service.api, id).map(({ language, text }) => [language, text]),
  );
  const env = { IDENTITY_ENGINE_API_KEY: caller.key };
  return { caller, id, sample: (name: string) => samples.get(name) ?? '', env };
}

async function cyclesOf(caller: Caller, id: string): Promise<number> {
  return (await caller.send('GET', `/instances/${id}`)).body.data.cycle_count;
}

const samples = suite('the code that connects an agent');

samples('reads the prompt and sends an observation with curl', async () => {
  const { caller, id, sample, env } = await openInstance();
  const script = sample('curl').replace('YOUR_API_KEY', caller.key);
  const output = await outputOf({ program: 'sh', args: ['-c', script] }, env);
  const [contract, processed] = output.split(/(?<=\})(?=\{)/).map((text) => JSON.parse(text));
  assert.match(contract.data.prompt, /^How you work just now/);
  assert.is(processed.data.snapshot.cycle, 1);
  assert.is(await cyclesOf(caller, id), 1);
});

/** Runs TypeScript in the folder of the client, which has the frameworks. */
const typescript = (text: string): Program => ({
  program: process.execPath,
  args: ['--import', CLIENT_HOOK, '--input-type=module-typescript', '--eval', text],
  folder: 'clients/typescript',
});

samples('makes a turn with the TypeScript client', async () => {
  const { caller, id, sample, env } = await openInstance();
  const output = await outputOf(typescript(sample('TypeScript')), env);
  assert.match(output, /^How you work just now/);
  assert.is(await cyclesOf(caller, id), 1);
});

for (const framework of ['Vercel AI SDK', 'OpenAI Agents, TypeScript', 'LangChain, TypeScript']) {
  samples(`runs with ${framework}`, async () => {
    await using provider = await startProvider();
    const { sample, env } = await openInstance();
    const model = { OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: 'none' };
    const quiet = { OPENAI_AGENTS_DISABLE_TRACING: '1' };
    const output = await outputOf(typescript(sample(framework)), { ...env, ...model, ...quiet });
    assert.is(output.trim(), ANSWER);
  });
}

const python = suiteUnless(pythonLack())('the Python code that connects an agent');

python('makes a turn with the client', async () => {
  await makeEnvironment();
  const { caller, id, sample, env } = await openInstance();
  const program = join('clients/python', '.venv', 'bin', 'python');
  const output = await outputOf({ program, args: ['-c', sample('Python')] }, env);
  assert.match(output, /^How you work just now/);
  assert.is(await cyclesOf(caller, id), 1);
});

const frameworks = suiteUnless(pythonLack('adapters'))('the Python code with a framework');

for (const framework of ['OpenAI Agents, Python', 'LangChain, Python', 'Pydantic AI']) {
  frameworks(`runs with ${framework}`, async () => {
    await makeEnvironment('adapters');
    await using provider = await startProvider();
    const { sample, env } = await openInstance();
    const model = { OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: 'none' };
    const quiet = { OPENAI_AGENTS_DISABLE_TRACING: '1' };
    const program = join('clients/python', '.venv-adapters', 'bin', 'python');
    const run = { program, args: ['-c', sample(framework)] };
    const output = await outputOf(run, { ...env, ...model, ...quiet });
    assert.is(output.trim(), ANSWER);
  });
}

const mcp = suite('the configuration for an MCP client');

/** Module of the MCP server, from the folder in which the samples run. */
const CONFIGURATION = '../mcp/src/configuration.ts';

mcp('is read by the server, which then serves the instance', async () => {
  const { id, sample } = await openInstance();
  const { env } = JSON.parse(sample('MCP')).mcpServers['identity-engine'];
  const read = `import { readConfiguration } from '${CONFIGURATION}';
    console.log(JSON.stringify(readConfiguration([], process.env)));`;
  const output = await outputOf(typescript(read), env);
  assert.ok(output.includes(id) && output.includes('YOUR_API_KEY'), output);
});

for (const each of [samples, python, frameworks, mcp]) each.run();
