import { hash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Fault, invalid, toFault } from '#fault/fault';
import type { AccountAdmin } from '#limiter/account-admin';
import {
  ADMIN_USER_HEADER,
  type AdminAudit,
  type AdminChange,
  type Administrator,
  USER_NAME,
} from '#limiter/admin-audit';
import { answerAdmin } from '#limiter/admin-routes';
import { adminTokenId } from '#limiter/admin-token';
import { ADMIN_BODY_BYTES_MAX, ADMIN_REQUEST_MS_MAX } from '#limiter/bounds';
import { isLoopbackAddress, isLoopbackHost } from '#limiter/loopback';
import type { Clock } from '#platform/clock';
import type { Running } from '#platform/run';

/** Where the admin port listens. Port 0 takes any that is free. */
export type AdminListen = { readonly host: string; readonly port: number };

/** What the admin port needs of its process. */
export type AdminServerPorts = {
  readonly admin: AccountAdmin;
  /** What every request must show; see `limiter/admin-token`. */
  readonly token: string;
  readonly audit: AdminAudit;
  readonly clock: Clock;
  /** Called with what is no Fault: our own bugs, for the process's log. */
  readonly onBug: (error: unknown) => void;
};

/**
 * Administration of accounts over HTTP for people on this machine. It listens on a loopback address
 * only (anything else is a RangeError), answers only requests that show the token of this process and
 * name this machine, and none that a web page could send: those carry `Origin`, or a body that is
 * not declared as JSON.
 */
export async function serveAdmin(listen: AdminListen, ports: AdminServerPorts): Promise<Running> {
  if (!isLoopbackAddress(listen.host)) {
    const text = `the admin port listens on a loopback address such as 127.0.0.1, not ${listen.host}`;
    throw new RangeError(text);
  }
  const server = createServer(
    { requestTimeout: ADMIN_REQUEST_MS_MAX, headersTimeout: ADMIN_REQUEST_MS_MAX },
    (request, response) => void answer(request, response, ports),
  );
  server.listen(listen.port, listen.host);
  await once(server, 'listening');
  const { address, port, family } = server.address() as AddressInfo;
  return {
    address: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { admin, token, audit, clock, onBug }: AdminServerPorts,
): Promise<void> {
  try {
    assertLocal(request);
    assertShown(request, token);
    // Taken before anything is awaited: a connection that has ended has no address any more.
    const by = administratorOf(request, token);
    const url = urlOf(request);
    const body = await bodyOf(request);
    const asked = { method: request.method ?? '', url, body };
    const heard = (change: AdminChange) => audit(change, by);
    send(response, { data: await answerAdmin(admin, asked, clock.wallMs(), heard) });
  } catch (error) {
    // Whoever hung up waits for no answer, and it is no fault of ours that the body ended early.
    if (request.destroyed && !request.complete) return;
    const fault = toFault(error);
    if (fault.httpStatus >= 500) onBug(error);
    const { code, message, reason, field } = fault;
    response.statusCode = fault.httpStatus;
    if (fault.code === 'unauthorized') response.setHeader('www-authenticate', 'Bearer');
    // Whatever of a refused body has not been read stays unread.
    if (!request.complete) response.setHeader('connection', 'close');
    send(response, { error: code, message, details: { field, reason } });
  }
}

function send(response: ServerResponse, body: unknown): void {
  if (response.destroyed) return;
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('cache-control', 'no-store');
  response.setHeader('x-content-type-options', 'nosniff');
  response.end(JSON.stringify(body));
}

function assertLocal(request: IncomingMessage): void {
  const { host, origin } = request.headers;
  const isLocal = isLoopbackAddress(request.socket.remoteAddress ?? '') && isLoopbackHost(host);
  if (!isLocal || origin !== undefined) {
    throw new Fault('forbidden', 'the admin port answers programs on this machine only');
  }
}

/** Compares digests, so that the time it takes says nothing of the token. */
function assertShown(request: IncomingMessage, token: string): void {
  const shown = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  if (timingSafeEqual(digestOf(shown), digestOf(token))) return;
  const text = 'the admin port takes the token of its process; ctl of the same user finds it';
  throw new Fault('unauthorized', text);
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

function administratorOf(request: IncomingMessage, token: string): Administrator {
  const { remoteAddress, remotePort } = request.socket;
  const user = request.headers[ADMIN_USER_HEADER];
  return {
    tokenId: adminTokenId(token),
    claimedUser: typeof user === 'string' && USER_NAME.test(user) ? user : undefined,
    address: `${remoteAddress}:${remotePort}`,
  };
}

function urlOf(request: IncomingMessage): URL {
  const url = URL.parse(request.url ?? '', 'http://localhost');
  if (url === null) throw invalid('malformed_request', undefined, 'the URL cannot be read');
  return url;
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // A body that is refused half-way must not take the connection, and with it the answer, along.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > ADMIN_BODY_BYTES_MAX) {
      throw invalid('body_too_large', undefined, `a body has up to ${ADMIN_BODY_BYTES_MAX} bytes`);
    }
    chunks.push(chunk);
  }
  if (bytes === 0) return undefined;
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw invalid('unsupported_media_type', 'content-type', 'a body is application/json');
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw invalid('malformed_json', undefined, 'the body is not JSON');
  }
}
