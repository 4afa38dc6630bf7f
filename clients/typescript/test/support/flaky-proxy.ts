import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Fault rates of a proxy: probabilities per chunk of data, each from 0 to 1. */
export type Flakiness = {
  /** Probability that the proxy cuts the connection instead of forwarding a request chunk. */
  readonly before: number;
  /** Probability that the proxy cuts the connection instead of forwarding an answer chunk. */
  readonly after: number;
};

/**
 * Proxy that cuts connections at random: before forwarding, so that the request is lost, or after
 * the answer, so that the request took effect. `random` decides.
 */
export async function flakyProxy(
  target: URL,
  random: () => number,
  flakiness: Flakiness,
): Promise<{ readonly baseUrl: string; readonly cuts: () => number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  let cuts = 0;
  const server = createServer((client) => {
    const service = connect(Number(target.port), target.hostname);
    const cut = () => {
      cuts += 1;
      client.destroy();
      service.destroy();
    };
    const pass = (from: Socket, to: Socket, rate: number) =>
      from.on('data', (chunk) => {
        if (random() < rate) cut();
        else to.write(chunk);
      });
    pass(client, service, flakiness.before);
    pass(service, client, flakiness.after);
    for (const [one, other] of [
      [client, service],
      [service, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    cuts: () => cuts,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
