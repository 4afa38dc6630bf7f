import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import {
  hostHeaderValidation,
  type NodeIncomingMessageLike,
  originValidation,
  toNodeHandler,
} from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  type McpHttpHandler,
  OAuthError,
  OAuthErrorCode,
  requireBearerAuth,
  type ServerEvent,
} from '@modelcontextprotocol/server';
import { type Configuration, type HttpConfiguration, isInstanceId } from './configuration.ts';
import {
  type ContractWatches,
  listenedUris,
  SUBSCRIPTIONS_MAX,
  Subscriptions,
} from './contract-watch.ts';
import { report, resourceFailure, TooManySubscriptionsError } from './failures.ts';
import { mcpServer } from './mcp-server.ts';
import { Session } from './session.ts';

/** Maximum size of a request body, in bytes. A large call has 10 KiB. */
const BODY_BYTES_MAX = 65_536;

/** Maximum number of calls in a request. Clients of 2025 may send several as an array. */
const CALLS_MAX = 20;

/** Maximum number of subscriptions with an API key, so that other clients can subscribe too. */
const SUBSCRIPTIONS_OF_KEY_MAX = 50;

/** Maximum length of a subscription's request id, which each notification repeats. */
const ID_LENGTH_MAX = 128;

/**
 * Maximum time of an answer, except the stream of a subscription, in milliseconds. Calls to the
 * service end earlier. The time bounds answers that never come, and clients that do not read.
 */
const ANSWER_MS_MAX = 20_000;

/** Maximum number of connections. */
const CONNECTIONS_MAX = 256;

/** Maximum times for a request to arrive, and the interval of this check, in milliseconds. */
const ARRIVAL = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 2_000,
};

/** Time in which connections may end at the end of the process, in milliseconds. */
const CLOSE_MS_MAX = 300;

/** A running HTTP server. */
export type HttpServer = {
  /** URL for clients. */
  readonly url: string;
  /** Ends subscriptions, then all connections. */
  readonly close: () => Promise<void>;
};

/** Starts the HTTP server. Rejects if the address is not available. */
export async function serveOnHttp(
  configuration: Configuration,
  http: HttpConfiguration,
  watches: ContractWatches,
): Promise<HttpServer> {
  const endpoint = new McpEndpoint(watches);
  const keyOf = authenticator(configuration, http);
  const answer = async (request: Request, onListening: () => void): Promise<Response> => {
    const key = await keyOf(request);
    if (key instanceof Response) return key;
    const ids = instancesOf(new URL(request.url).pathname, configuration.instanceIds);
    if (ids.length === 0) return Response.json({ error: NO_INSTANCE }, { status: 404 });
    return await endpoint.answer(request, new Session(key, ids), onListening);
  };
  const hasAllowedHost = hostHeaderValidation([...http.allowedHosts]);
  const hasAllowedOrigin = originValidation([...http.allowedHosts]);
  const server = createServer(ARRIVAL, (request, response) => {
    if (!hasAllowedHost(request, response) || !hasAllowedOrigin(request, response)) return;
    const late = setTimeout(() => response.destroy(), ANSWER_MS_MAX);
    const stop = () => clearTimeout(late);
    response.once('close', stop);
    const handle = toNodeHandler(
      { fetch: (asked) => answer(asked, stop) },
      { maxRequestBodySize: BODY_BYTES_MAX, onerror: report },
    );
    handle(request as NodeIncomingMessageLike, response).catch(report);
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.listen(http.port, http.host);
  await once(server, 'listening').catch(({ code }: NodeJS.ErrnoException) => {
    const address = `${http.host}, port ${http.port}`;
    throw new Error(`cannot listen on ${address} (${code}): choose another --host or --port`);
  });
  return {
    url: urlOf(server, http.host),
    close: async () => {
      server.close();
      await endpoint.close();
      await pause(CLOSE_MS_MAX);
      server.closeAllConnections();
    },
  };
}

/** Answers requests of the protocol, each with the session of its key and path. */
class McpEndpoint {
  readonly #watches: ContractWatches;
  /** API key of each subscription. */
  readonly #listening = new Map<McpHttpHandler, string>();

  constructor(watches: ContractWatches) {
    this.#watches = watches;
  }

  /** `onListening`: called if the answer is the stream of a subscription, which has no end. */
  async answer(request: Request, session: Session, onListening: () => void): Promise<Response> {
    // The SDK refuses a request if this header and the body differ.
    if (request.headers.get('mcp-method') === 'subscriptions/listen') {
      const copy = request.clone();
      const message: unknown = await copy.json().catch(() => undefined);
      if (listenedUris(message).length > 0) {
        return await this.#listen(request, session, message, onListening);
      }
    }
    if (callsIn(await request.clone().text()) > CALLS_MAX) {
      const text = `send at most ${CALLS_MAX} calls in a request`;
      return refusal(null, { code: -32_600, message: text }, 400);
    }
    const factory = ({ era }: { era: string }) => mcpServer(session, era === 'modern');
    return await createMcpHandler(factory, { onerror: report }).fetch(request);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#listening.keys()].map((handler) => handler.close()));
  }

  /** Opens the subscriptions, then lets the SDK acknowledge the request and keep its stream. */
  async #listen(
    request: Request,
    session: Session,
    message: unknown,
    onListening: () => void,
  ): Promise<Response> {
    const { id } = message as { readonly id: unknown };
    if (typeof id === 'string' && id.length > ID_LENGTH_MAX) {
      const text = `an id of a subscription has at most ${ID_LENGTH_MAX} characters`;
      return refusal(null, { code: -32_600, message: text }, 400);
    }
    const uris = listenedUris(message);
    let publish: ((event: ServerEvent) => void) | undefined;
    /** URIs whose newest notification the client has not read yet. A second one adds nothing. */
    const unread = new Set<string>();
    const subscriptions = new Subscriptions(session, this.#watches, (uri) => {
      if (publish === undefined || unread.has(uri)) return;
      unread.add(uri);
      publish({ kind: 'resource_updated', uri });
    });
    const leave = () => {
      subscriptions.close();
      this.#listening.delete(handler);
    };
    const bus = {
      publish: () => undefined,
      subscribe: (listener: (event: ServerEvent) => void) => {
        publish = listener;
        return leave;
      },
    };
    const handler = createMcpHandler(() => mcpServer(session, true), { bus, onerror: report });
    try {
      this.#admit(session.apiKey);
      this.#listening.set(handler, session.apiKey);
      await subscriptions.add(id, uris);
      const response = await handler.fetch(request);
      if (publish === undefined || response.body === null) {
        leave();
        return response;
      }
      onListening();
      return new Response(response.body.pipeThrough(watched(unread)), response);
    } catch (error) {
      leave();
      const { code, message: text, data } = resourceFailure(error, uris[0] ?? '');
      return refusal(id, { code, message: text, data }, 200);
    }
  }

  /** Throws a `TooManySubscriptionsError` if there is no room for a subscription with this key. */
  #admit(apiKey: string): void {
    const ofKey = [...this.#listening.values()].filter((key) => key === apiKey).length;
    const isFull = this.#listening.size >= SUBSCRIPTIONS_MAX;
    if (isFull || ofKey >= SUBSCRIPTIONS_OF_KEY_MAX) throw new TooManySubscriptionsError();
  }
}

type RpcError = { readonly code: number; readonly message: string; readonly data?: unknown };

function refusal(id: unknown, error: RpcError, status: number): Response {
  return Response.json({ jsonrpc: '2.0', id, error }, { status });
}

/** Stream that removes from `unread` each URI whose notification leaves for the client. */
function watched(unread: Set<string>): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    transform: (chunk, controller) => {
      const text = Buffer.from(chunk).toString();
      for (const uri of unread) if (text.includes(uri)) unread.delete(uri);
      controller.enqueue(chunk);
    },
  });
}

/** Number of JSON-RPC messages in a body; 1 for all bodies except arrays. */
function callsIn(body: string): number {
  if (!body.trimStart().startsWith('[')) return 1;
  try {
    const messages: unknown = JSON.parse(body);
    return Array.isArray(messages) ? messages.length : 1;
  } catch {
    // The SDK refuses the body.
    return 1;
  }
}

const NO_INSTANCE = 'no such instance: connect to /mcp, or to /mcp/ and the id of an instance';

/** Instances of a path `/mcp` or `/mcp/inst_…`; empty for all other paths. */
function instancesOf(path: string, configured: readonly string[]): readonly string[] {
  const [match, id] = /^\/mcp(?:\/([^/]+))?$/.exec(path) ?? [];
  if (match === undefined) return [];
  if (id === undefined) return configured;
  const isAllowed = configured.length === 0 ? isInstanceId(id) : configured.includes(id);
  return isAllowed ? [id] : [];
}

/** Returns the API key for a request, or the refusal 401. */
function authenticator({ apiKey }: Configuration, { token }: HttpConfiguration) {
  if (apiKey !== undefined && token === undefined) return async () => apiKey;
  const verifyAccessToken = async (given: string) => {
    const isValid = token === undefined ? /^[!-~]{1,512}$/.test(given) : isSame(given, token);
    if (!isValid) throw new OAuthError(OAuthErrorCode.InvalidToken, 'the token is not valid');
    // The SDK refuses tokens without a time of expiry.
    return { token: given, clientId: '', scopes: [], expiresAt: Number.MAX_SAFE_INTEGER };
  };
  const gate = requireBearerAuth({ verifier: { verifyAccessToken } });
  return async (request: Request) => {
    const granted = await gate(request);
    return granted instanceof Response ? granted : (apiKey ?? granted.token);
  };
}

/** Compares secrets in constant time. */
function isSame(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/mcp`;
}
