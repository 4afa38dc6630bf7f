import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A received request with its parsed body. */
export type Received = {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: unknown;
};

/** Server's reaction to one request. */
export type Reaction = (response: ServerResponse, request: Received) => void | Promise<void>;

/** Server on a real socket. Request n gets reaction n; the last reaction repeats. */
export class FakeServer implements AsyncDisposable {
  readonly received: Received[] = [];
  readonly baseUrl: string;
  readonly #close: () => Promise<void>;

  private constructor(baseUrl: string, close: () => Promise<void>) {
    this.baseUrl = baseUrl;
    this.#close = close;
  }

  /** Listens on a free port of the loopback. */
  static async start(...reactions: Reaction[]): Promise<FakeServer> {
    const server = createServer((request, response) => {
      void receive(request).then(async (received) => {
        fake.received.push(received);
        const reaction = reactions[Math.min(fake.received.length, reactions.length) - 1];
        await reaction?.(response, received);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const fake: FakeServer = new FakeServer(`http://127.0.0.1:${port}/v1`, async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    });
    return fake;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

/** Returns a base address on which no server listens. */
export async function closedAddress(): Promise<string> {
  await using server = await FakeServer.start();
  return server.baseUrl;
}

/** A successful answer with this data. */
export function data(value: unknown, headers: Record<string, string> = {}): Reaction {
  return answer(200, { data: value }, headers);
}

/** A refusal of the service. */
export function refusal(
  status: number,
  code: string,
  reason?: string,
  headers: Record<string, string> = {},
): Reaction {
  const details = reason === undefined ? {} : { reason };
  return answer(status, { error: code, message: `it is ${code}`, details }, headers);
}

/** Any answer of the service. */
export function answer(
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): Reaction {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...LIMITS, ...headers });
    response.end(JSON.stringify(body));
  };
}

/** Error page of a proxy without a backend. */
export function proxyPage(status: number): Reaction {
  return (response) => {
    response.writeHead(status, { 'content-type': 'text/html' });
    response.end('<html><h1>Bad Gateway</h1></html>');
  };
}

/** Cuts the connection after the request has arrived. */
export const cut: Reaction = (response) => void response.socket?.destroy();

/** Cuts the connection in the middle of the answer. */
export const cutInBody: Reaction = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
  response.write('{"data":', () => response.socket?.destroy());
};

/** Never answers. */
export const silence: Reaction = () => undefined;

/** Headers of every answer: limits of the account and the request id. */
const LIMITS = {
  'x-ratelimit-limit': '60',
  'x-ratelimit-remaining': '59',
  'x-ratelimit-reset': '1800000000',
  'x-monthly-remaining': '99999',
  'x-request-id': 'req_of_the_fake',
};

async function receive(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers as Received['headers'],
    body: text === '' ? undefined : JSON.parse(text),
  };
}
