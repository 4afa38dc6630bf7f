import { hash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { AuditTrail } from '#audit/trail';
import { Fault, invalid, toFault } from '#errors/fault';
import type { AccountAdmin } from '#limiter/admin/accounts';
import {
  ADMIN_USER_HEADER,
  type AdminAudit,
  type Administrator,
  type AdminRequest,
  makerOf,
  USER_NAME,
} from '#limiter/admin/route';
import {
  answerAdmin,
  answerAudit,
  answerCluster,
  answerProcess,
  type ClusterOverview,
  noAccounts,
  type PageFile,
  pageFileOf,
} from '#limiter/admin/routes';
import {
  ADMIN_PROOF_HEADER,
  adminTokenId,
  answerProof,
  challengeOf,
  isSameProof,
  newNonce,
  requestProof,
} from '#limiter/admin/token';
import { ADMIN_BODY_BYTES_MAX, ADMIN_REQUEST_MS_MAX } from '#limiter/quota-bounds';
import { hasBody } from '#stdlib/has-body';
import { IDLE_CONNECTION_MS_MAX, isLoopbackAddress, isLoopbackHost } from '#stdlib/network';
import type { Running } from '#stdlib/run';
import type { ProcessControl } from '#telemetry/process-control';
import type { ProcessPorts } from '#telemetry/process-ports';

/** The admin port's listening address. Port 0 selects a free port. */
type AdminListen = { readonly host: string; readonly port: number };

type AdminServerPorts = ProcessPorts & {
  /** Token that every request must present or prove; see `limiter/admin/token`. */
  readonly token: string;
  /** Process control; undefined: requests about the process are refused. */
  readonly control?: ProcessControl | undefined;
} & (AccountPorts | { readonly admin?: undefined });

/** Accounts and cluster, for a limiter or standalone process. */
type AccountPorts = {
  readonly admin: AccountAdmin;
  readonly trail: AuditTrail;
  /** Called after each requested change, with its outcome. */
  readonly heard: AdminAudit;
  readonly cluster: ClusterOverview;
};

/**
 * Serves the admin API and the cluster page over HTTP, to programs and people on this machine.
 * Throws a RangeError if `listen.host` is not a loopback address. A request must present or prove
 * the token, and its `Host` must name this machine. Requests from foreign web pages are refused by
 * their `Origin`, or by a body that is not declared as JSON. Page files need no token, because
 * people enter the token on the page.
 */
export async function serveAdmin(listen: AdminListen, ports: AdminServerPorts): Promise<Running> {
  if (!isLoopbackAddress(listen.host)) {
    const text = `the admin port listens on a loopback address such as 127.0.0.1, not ${listen.host}`;
    throw new RangeError(text);
  }
  const nonces: Nonces = new WeakMap();
  const server = createServer(
    {
      keepAliveTimeout: IDLE_CONNECTION_MS_MAX,
      requestTimeout: ADMIN_REQUEST_MS_MAX,
      headersTimeout: ADMIN_REQUEST_MS_MAX,
    },
    (request, response) => void answer(request, response, ports, nonces),
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

/** Unused nonce per connection. */
type Nonces = WeakMap<Socket, string>;

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  ports: AdminServerPorts,
  nonces: Nonces,
): Promise<void> {
  const { token, onBug } = ports;
  let sign: Sign | undefined;
  try {
    assertLocal(request);
    const url = urlOf(request);
    const file = fileOf(ports, request, url);
    if (file !== undefined) return sendFile(response, file);
    // Read before the first await: a closed connection has no address.
    const by = administratorOf(request, token);
    const assertProven = askedFor(request, token, nonces);
    const text = await textOf(request);
    sign = assertProven?.(text);
    const asked = {
      ...{ method: request.method ?? '', url, body: bodyOf(request, text) },
      by: { kind: 'operator', id: by.claimedUser ?? by.tokenId } as const,
    };
    const requestedBy = by.claimedUser ?? by.tokenId;
    const data =
      (await answerProcess(ports.control, { ...asked, requestedBy })) ??
      (await answerAccounts(ports, asked, by));
    send(response, { data }, sign);
  } catch (error) {
    // A client that hung up gets no answer. Its incomplete body is not an error.
    if (request.destroyed && !request.complete) return;
    refuse(request, response, { fault: toFault(error), sign, nonces });
    if (toFault(error).httpStatus >= 500) onBug(error);
  }
}

function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  { fault, sign, nonces }: { fault: Fault; sign: Sign | undefined; nonces: Nonces },
): void {
  const { code, message, reason, field } = fault;
  response.statusCode = fault.httpStatus;
  if (fault.code === 'unauthorized') {
    const nonce = newNonce();
    nonces.set(request.socket, nonce);
    response.setHeader('www-authenticate', challengeOf(nonce));
  }
  // Close the connection, because a refused body is not read to its end.
  if (!request.complete && hasBody(request)) response.setHeader('connection', 'close');
  send(response, { error: code, message, details: { field, reason } }, sign);
}

function fileOf(ports: AdminServerPorts, { method }: IncomingMessage, url: URL) {
  return ports.admin === undefined ? undefined : pageFileOf(ports.cluster, { method, url });
}

async function answerAccounts(
  ports: AdminServerPorts,
  asked: AdminRequest,
  by: Administrator,
): Promise<unknown> {
  if (ports.admin === undefined) throw noAccounts();
  const { admin, trail, heard, cluster, clock } = ports;
  const nowMs = clock.wallMs();
  return (
    (await answerCluster(cluster, asked)) ??
    (await answerAudit({ admin, trail }, asked, nowMs)) ??
    (await answerAdmin(admin, asked, nowMs, makerOf(trail, heard, by)))
  );
}

/** Signs an answer for a client that has proven its request. */
type Sign = (status: number, text: string) => string;

function send(response: ServerResponse, body: unknown, sign: Sign | undefined): void {
  if (response.destroyed) return;
  const text = JSON.stringify(body);
  if (sign !== undefined) response.setHeader(ADMIN_PROOF_HEADER, sign(response.statusCode, text));
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('cache-control', 'no-store');
  response.setHeader('x-content-type-options', 'nosniff');
  response.end(text);
}

function sendFile(response: ServerResponse, { headers, body }: PageFile): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end(body);
}

function assertLocal(request: IncomingMessage): void {
  const { host, origin } = request.headers;
  const isLocal = isLoopbackAddress(request.socket.remoteAddress ?? '') && isLoopbackHost(host);
  // Browsers also send `Origin` with requests from the admin page itself.
  const isForeign = origin !== undefined && origin !== `http://${host}`;
  if (!isLocal || isForeign) {
    throw new Fault('forbidden', 'the admin port answers only programs on this machine');
  }
}

/**
 * Checks a request's token or proof. Throws `unauthorized` for a request with neither. For a proof,
 * the caller must pass the body to the returned function, which throws if the proof does not match.
 */
function askedFor(
  request: IncomingMessage,
  token: string,
  nonces: Nonces,
): ((body: string) => Sign) | undefined {
  const { socket, headers, method = '', url: target = '' } = request;
  const nonce = nonces.get(socket);
  nonces.delete(socket);
  const [, scheme = '', shown = ''] = /^(\w+) (\S+)$/.exec(headers.authorization ?? '') ?? [];
  if (/^bearer$/i.test(scheme)) {
    // Compare digests, so that the duration reveals nothing about the token.
    if (timingSafeEqual(digestOf(shown), digestOf(token))) return undefined;
  } else if (/^proof$/i.test(scheme) && nonce !== undefined) {
    const address = `${socket.localAddress}:${socket.localPort}`;
    return (body) => {
      const proof = requestProof(token, { nonce, address, method, target, body });
      if (!isSameProof(shown, proof)) throw unproven();
      return (status, text) => answerProof(token, proof, status, text);
    };
  }
  throw unproven();
}

function unproven(): Fault {
  const text = 'the admin port takes the token of its process; ctl of the same user finds it';
  return new Fault('unauthorized', text);
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

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Keep the connection open after refusing the body, so that the answer can be sent.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > ADMIN_BODY_BYTES_MAX) {
      throw invalid('body_too_large', undefined, `a body has up to ${ADMIN_BODY_BYTES_MAX} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function bodyOf(request: IncomingMessage, text: string): unknown {
  if (text === '') return undefined;
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw invalid('unsupported_media_type', 'content-type', 'a body is application/json');
  }
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('malformed_json', undefined, 'the body is not JSON');
  }
}
