import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { soon } from '../../../test/support/soon.ts';
import { FakeServer } from '../../typescript/test/support/fake-server.ts';
import {
  connectHttp,
  newScene,
  type Server,
  startHttp,
  startServer,
  type Variables,
  variablesOf,
} from './support/mcp.ts';

const KEY = 'svc_sk_of_the_tests';
const ID = 'inst_0123456789abcdef';
const OFFLINE = variablesOf('http://127.0.0.1:9/v1', KEY, ID);

/** Maximum time of an end, in milliseconds. */
const END_MS_MAX = 1_000;

const INITIALIZE = {
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: {
    ...{ protocolVersion: '2025-11-25', capabilities: {} },
    clientInfo: { name: 'test', version: '1' },
  },
};

const STATUS = {
  ...{ jsonrpc: '2.0', id: 2, method: 'tools/call' },
  params: { name: 'status', arguments: {} },
};

/** Writes messages to a server's standard input. */
function write({ child }: Server, ...messages: readonly unknown[]): void {
  for (const message of messages) child.stdin?.write(`${JSON.stringify(message)}\n`);
}

/** Waits for a number of lines on standard output, and returns the parsed lines. */
async function messagesOf(server: Server, count: number) {
  const lines = () => server.stdout().split('\n').slice(0, -1);
  await soon(`${count} messages`, () => lines().length >= count, { everyMs: 10 });
  return lines().map((line) => JSON.parse(line));
}

/** Ends a server, and checks that it ends in time. Returns the exit code. */
async function endOf(server: Server, end: () => void): Promise<number | string> {
  const startedMs = performance.now();
  end();
  const code = await server.ended;
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs < END_MS_MAX, `the end took ${Math.round(tookMs)} ms`);
  return code;
}

const wire = suite('standard output of the server on stdio');

wire('has only messages, even if dependencies log and Node.js warns', async () => {
  const { variables } = await newScene();
  const noise = `data:text/javascript,${encodeURIComponent(NOISE)}`;
  const debug = { NODE_DEBUG: 'http,net', DEBUG: '*', NODE_OPTIONS: '--trace-warnings' };
  const server = startServer([], { ...variables, ...debug }, ['--import', noise]);
  write(server, INITIALIZE);
  await soon('noise', () => server.stderr().includes('a dependency logs'), { everyMs: 10 });
  server.child.stdin?.write('this is no message\n');
  write(server, { ...STATUS, params: { name: 'no such tool' } }, { ...STATUS, id: 3 });
  const messages = await messagesOf(server, 3);
  assert.equal(messages.map(({ id }) => id).toSorted(), [1, 2, 3]);
  assert.ok(messages.every(({ jsonrpc }) => jsonrpc === '2.0'));
  assert.is(await endOf(server, () => server.child.stdin?.end()), 0);
  assert.is((await messagesOf(server, 0)).length, 3);
  assert.match(server.stderr(), 'a warning of the test');
});

wire('has only messages when the process crashes', async () => {
  const crash = `data:text/javascript,${encodeURIComponent(CRASH)}`;
  const server = startServer([], OFFLINE, ['--import', crash]);
  write(server, INITIALIZE);
  await messagesOf(server, 1);
  server.child.kill('SIGUSR2');
  assert.is(await server.ended, 1);
  assert.is((await messagesOf(server, 1)).length, 1);
  assert.match(server.stderr(), /^identity-engine-mcp: Error: a crash\n$/);
});

// The server ended with exit code 0, so nobody saw why.
wire('ends with an error if the client sends too much at once', async () => {
  const server = startServer([], OFFLINE);
  server.child.stdin?.on('error', () => undefined);
  server.child.stdin?.write('x'.repeat(3_000_000));
  assert.is(await server.ended, 1);
  assert.match(server.stderr(), 'a message exceeded 1048576 bytes: start again');
});

/** Program that logs and warns as soon as the server reads its input. */
const NOISE = `
process.stdin.once('data', () => {
  console.log('a dependency logs');
  console.info('a dependency logs');
  process.emitWarning('a warning of the test');
});
`;

/** Program that throws on a signal. */
const CRASH = `process.once('SIGUSR2', () => { throw new Error('a crash'); });`;

const end = suite('the server ends within a second, with exit code 0,');

for (const [how, finish] of [
  ['when its input ends', ({ child }: Server) => void child.stdin?.end()],
  ['after SIGTERM', ({ child }: Server) => void child.kill('SIGTERM')],
  ['after SIGINT', ({ child }: Server) => void child.kill('SIGINT')],
] as const) {
  end(`${how} while nothing is open`, async () => {
    const server = startServer([], OFFLINE);
    write(server, INITIALIZE);
    await messagesOf(server, 1);
    assert.is(await endOf(server, () => finish(server)), 0);
    assert.is(server.stderr(), '');
  });

  end(`${how} while a call and a subscription are open`, async () => {
    const { variables, id } = await newScene();
    const uri = `identity://instances/${id}/contract`;
    const subscribe = { jsonrpc: '2.0', id: 5, method: 'resources/subscribe', params: { uri } };
    const server = startServer([], variables);
    write(server, INITIALIZE, subscribe);
    await messagesOf(server, 2);
    assert.is(await endOf(server, () => finish(server)), 0);

    await using silent = await FakeServer.start(() => undefined);
    const waiting = startServer([], variablesOf(silent.baseUrl, KEY, ID));
    write(waiting, INITIALIZE, STATUS);
    await soon('the call', () => silent.received.length > 0, { everyMs: 10 });
    assert.is(await endOf(waiting, () => finish(waiting)), 0);
  });
}

end('when its input has ended before the start', async () => {
  const server = startServer([], OFFLINE);
  server.child.stdin?.end();
  assert.equal([await server.ended, server.stdout()], [0, '']);
});

end('over HTTP after SIGTERM, and ends subscriptions gracefully', async () => {
  const { variables, id } = await newScene();
  const server = await startHttp(variables);
  await using connection = await connectHttp('modern', server.url);
  const uri = `identity://instances/${id}/contract`;
  const { closed } = await connection.client.listen({ resourceSubscriptions: [uri] });
  assert.is(await endOf(server, () => void server.child.kill('SIGTERM')), 0);
  assert.is(await closed, 'graceful');
});

const refused = suite('the server refuses to start');

const KEY_ONLY = { IDENTITY_ENGINE_API_KEY: KEY };
const COMPLETE = { ...KEY_ONLY, IDENTITY_ENGINE_INSTANCE_ID: ID };
const TOKEN = { IDENTITY_ENGINE_MCP_TOKEN: 'a-token-of-the-tests' };
const OPEN = ['--http', '--port', '0', '--host', '0.0.0.0'];
const NAMED = [...OPEN, '--allowed-hosts', 'mcp.example'];

for (const [args, variables, said] of [
  [[], {}, 'set IDENTITY_ENGINE_API_KEY'],
  [[], { ...COMPLETE, IDENTITY_ENGINE_API_KEY: '' }, 'set IDENTITY_ENGINE_API_KEY'],
  [[], KEY_ONLY, 'set IDENTITY_ENGINE_INSTANCE_ID'],
  [[], { ...KEY_ONLY, IDENTITY_ENGINE_INSTANCE_ID: 'inst_1' }, 'INSTANCE_ID is invalid'],
  [[], { ...COMPLETE, IDENTITY_ENGINE_API_KEY: 'ä' }, 'correct IDENTITY_ENGINE_API_KEY'],
  [[], { ...COMPLETE, IDENTITY_ENGINE_BASE_URL: 'ftp://a' }, 'IDENTITY_ENGINE_BASE_URL'],
  [['--port', '1'], COMPLETE, 'add --http'],
  [['--http', '--port', '65536'], COMPLETE, '--port is invalid'],
  [['--http', '--prot', '1'], COMPLETE, 'see --help'],
  [['serve'], COMPLETE, 'see --help'],
  [OPEN, COMPLETE, '--allowed-hosts'],
  [OPEN, { ...COMPLETE, ...TOKEN }, '--allowed-hosts'],
  [OPEN, {}, '--allowed-hosts'],
  [NAMED, COMPLETE, 'IDENTITY_ENGINE_MCP_TOKEN'],
  [['--http'], { ...COMPLETE, IDENTITY_ENGINE_MCP_TOKEN: 'short' }, '16 or more'],
  [['--http'], TOKEN, 'together with IDENTITY_ENGINE_API_KEY'],
] as const satisfies readonly (readonly [readonly string[], Variables, string])[]) {
  refused(`with ${[...args, ...Object.keys(variables)].join(' ')}, and says ${said}`, async () => {
    const server = startServer(args, variables);
    assert.is(await server.ended, 2);
    assert.match(server.stderr(), said);
    assert.match(server.stderr(), /^identity-engine-mcp: [^\n]*\n$/);
    assert.not.match(server.stderr(), KEY);
    assert.is(server.stdout(), '');
  });
}

const started = suite('the server starts');

for (const [what, variables] of [
  ['with a token and named hosts', { ...COMPLETE, ...TOKEN }],
  ['with keys of its clients and named hosts', {}],
] as const) {
  started(`on all addresses ${what}`, async () => {
    await using server = await startHttp(variables, NAMED.slice(3));
    assert.match(server.url, '0.0.0.0');
  });
}

started('and prints its version and its usage', async () => {
  const { version } = JSON.parse(readFileSync('clients/mcp/package.json', 'utf8'));
  const [versioned, used] = [startServer(['--version'], {}), startServer(['--help'], {})];
  assert.equal([await versioned.ended, versioned.stdout()], [0, `${version}\n`]);
  assert.is(await used.ended, 0);
  const readme = readFileSync('clients/mcp/README.md', 'utf8');
  for (const [name] of used.stdout().matchAll(/IDENTITY_ENGINE_\w+|--[a-z-]+/g)) {
    assert.ok(readme.includes(name), `README.md lacks ${name}`);
  }
});

for (const each of [wire, end, refused, started]) each.run();
