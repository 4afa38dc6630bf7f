import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

/** A request that the proxy received. */
export type ProxiedRequest = {
  /** `CONNECT`, or the method of a request with a whole URL. */
  readonly method: string;
  /** Host and port of a CONNECT; otherwise the whole URL. */
  readonly target: string;
  readonly headers: Readonly<Record<string, unknown>>;
};

/** HTTP proxy that sends everything to one local port, whatever the host in the request. */
export class RecordingProxy implements AsyncDisposable {
  readonly received: ProxiedRequest[] = [];
  /** Address of the proxy without a scheme. */
  readonly host: string;
  readonly #close: () => Promise<void>;

  private constructor(host: string, close: () => Promise<void>) {
    this.host = host;
    this.#close = close;
  }

  /** Starts a proxy in front of a server on this port of the loopback. */
  static async start(port: number): Promise<RecordingProxy> {
    const server = createServer((request, response) => {
      const { method = '', url: target = '', headers } = request;
      proxy.received.push({ method, target, headers });
      const { pathname, search } = new URL(target);
      const onward = { host: '127.0.0.1', port, method, headers, path: pathname + search };
      request.pipe(
        httpRequest(onward, (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        }),
      );
    });
    server.on('connect', ({ url: target = '', headers }, socket, head) => {
      proxy.received.push({ method: 'CONNECT', target, headers });
      const tunnel = connect(port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        tunnel.write(head);
        tunnel.pipe(socket).pipe(tunnel);
      });
      tunnel.on('error', () => socket.destroy());
      socket.on('error', () => tunnel.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const proxy: RecordingProxy = new RecordingProxy(host, async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    });
    return proxy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}
