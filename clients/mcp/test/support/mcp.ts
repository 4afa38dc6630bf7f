import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Client } from '@modelcontextprotocol/client';
import { installTools } from '../../../../deploy/packages/packages.ts';
import { type SceneCaller, sharedScene } from '../../../../test/support/calls/scene.ts';
import type { Service } from '../../../../test/support/servers/service.ts';

// The packages must be installed before this module loads them.
await installTools(new URL('../..', import.meta.url).pathname);
const sdk = await import('@modelcontextprotocol/client');
const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');

/** Transport and protocol era of a client: 2025 with a handshake, or 2026-07-28. */
export type Way = { readonly transport: 'stdio' | 'http'; readonly era: 'legacy' | 'modern' };

/** All ways to reach the server. */
export const WAYS: readonly Way[] = [
  { transport: 'stdio', era: 'legacy' },
  { transport: 'stdio', era: 'modern' },
  { transport: 'http', era: 'legacy' },
  { transport: 'http', era: 'modern' },
];

/** Environment variables of a server process. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Arguments of Node.js that run the server from its source. */
const SOURCE = [
  '--import',
  new URL('client-source.mjs', import.meta.url).href,
  new URL('../../src/main.ts', import.meta.url).pathname,
];

/** Maximum lifetime of a server process, in milliseconds. */
const SERVER_MS_MAX = 120_000;

/** A service, a caller of the service, and one instance of the caller. */
export type Scene = {
  readonly service: Service;
  readonly caller: SceneCaller;
  readonly newCaller: () => Promise<SceneCaller>;
  readonly id: string;
  /** Variables of a server for the instance. */
  readonly variables: Variables;
};

/** A scene with a new account and a new instance, on the service of all test files. */
export async function newScene(): Promise<Scene> {
  const { service, caller, newCaller } = await sharedScene();
  const id = await caller.createInstance();
  return { service, caller, newCaller, id, variables: variablesOf(service.api, caller.key, id) };
}

/** Variables of a server. */
export function variablesOf(baseUrl: string, apiKey: string, ids: string): Variables {
  return {
    IDENTITY_ENGINE_BASE_URL: baseUrl,
    IDENTITY_ENGINE_API_KEY: apiKey,
    IDENTITY_ENGINE_INSTANCE_ID: ids,
  };
}

/** A running server process. */
export type Server = AsyncDisposable & {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves to the exit code or the ending signal after all output was read. */
  readonly ended: Promise<number | string>;
};

/** Starts a server. Disposal ends the process. */
export function startServer(
  args: readonly string[],
  variables: Variables,
  nodeArgs: readonly string[] = [],
): Server {
  const env = { PATH: process.env['PATH'], ...variables };
  const child = spawn(process.execPath, [...nodeArgs, ...SOURCE, ...args], {
    ...{ env, timeout: SERVER_MS_MAX, killSignal: 'SIGKILL' },
  });
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  // A server may end before it reads its input.
  child.stdin.on('error', () => undefined);
  const ended = once(child, 'close').then(([code, signal]) => {
    process.off('exit', kill);
    return (code ?? signal) as number | string;
  });
  const dispose = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    [Symbol.asyncDispose]: dispose,
  };
}

/** An HTTP server with its URL. */
export type HttpServer = Server & { readonly url: string };

/** Starts a server on a free port, and waits until the server is ready. */
export async function startHttp(
  variables: Variables,
  args: readonly string[] = [],
): Promise<HttpServer> {
  const server = startServer(['--http', '--port', '0', ...args], variables);
  for (;;) {
    const url = /http:\S+/.exec(server.stdout())?.[0];
    if (url !== undefined) return { ...server, url };
    const more = server.child.stdout === null ? [] : [once(server.child.stdout, 'data')];
    const first = await Promise.race([...more, server.ended]);
    if (!Array.isArray(first)) throw new Error(`the server ended: ${server.stderr()}`);
  }
}

/** A connected client of the official SDK. Disposal also ends a server on stdio. */
export type Connection = AsyncDisposable & {
  readonly client: Client;
  /** URIs of all notifications about changed resources. */
  readonly updates: readonly string[];
};

/** Connects a client in one of the ways. An HTTP server starts and ends with the connection. */
export async function connect(way: Way, variables: Variables): Promise<Connection> {
  if (way.transport === 'stdio') return await connectStdio(way.era, variables);
  const server = await startHttp(variables);
  const connection = await connectHttp(way.era, server.url);
  return {
    ...connection,
    async [Symbol.asyncDispose]() {
      await connection[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Connects a client to a new server on stdio. */
export async function connectStdio(era: Way['era'], variables: Variables): Promise<Connection> {
  return await connectCommand(era, process.execPath, SOURCE, variables);
}

/** Connects a client to a new server on stdio, which this command starts. */
export async function connectCommand(
  era: Way['era'],
  command: string,
  args: string[],
  variables: Variables,
): Promise<Connection> {
  const env = { PATH: process.env['PATH'] ?? '', ...variables } as Record<string, string>;
  const server = { command, args, env, stderr: 'ignore' as const };
  return await connected(era, new StdioClientTransport(server));
}

/** Connects a client to an HTTP server. */
export async function connectHttp(
  era: Way['era'],
  url: string,
  headers: Record<string, string> = {},
): Promise<Connection> {
  const transport = new sdk.StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
  });
  return await connected(era, transport);
}

async function connected(
  era: Way['era'],
  transport: Parameters<Client['connect']>[0],
): Promise<Connection> {
  const mode = era === 'legacy' ? 'legacy' : { pin: '2026-07-28' };
  const client = new sdk.Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const updates: string[] = [];
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    updates.push(params.uri);
  });
  await client.connect(transport);
  return { client, updates, [Symbol.asyncDispose]: () => client.close() };
}

/** Structured content of a successful tool call, untyped. Throws for a failed call. */
export async function call(
  { client }: Connection,
  name: string,
  args: Record<string, unknown> = {},
): Promise<ReturnType<typeof JSON.parse>> {
  const result = await client.callTool({ name, arguments: args });
  if (result.isError) throw new Error(textOf(result));
  return result.structuredContent;
}

/** Text of a failed tool call. Throws for a successful call. */
export async function refusal(
  { client }: Connection,
  name: string,
  args: Record<string, unknown> = {},
): Promise<string> {
  const result = await client.callTool({ name, arguments: args });
  if (!result.isError) throw new Error(`${name} did not fail: ${textOf(result)}`);
  return textOf(result);
}

function textOf({ content }: { content: readonly unknown[] }): string {
  return (content as readonly { readonly text: string }[]).map(({ text }) => text).join('\n');
}

/** An observation at a time in the past, `second` seconds after the first. */
export function observationAt(second: number, mode = 'ORDER') {
  const timestamp = new Date(FIRST_MS + second * 1_000).toISOString();
  return { mode_target: mode, signal_strength: 0.7, timestamp };
}

const FIRST_MS = Date.now() - 3_600_000;
