import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Decides how the proxy alters an answer. May also change `headers` in place. */
export type Alter = (answer: {
  readonly path: string;
  /** Ordinal of the answer, from 1. */
  readonly number: number;
  readonly headers: Record<string, string | string[] | undefined>;
}) => Altered | undefined;

/** Changes to an answer. `isCut` closes the connection without an answer. */
type Altered = { readonly status?: number; readonly delayMs?: number; readonly isCut?: boolean };

/** Starts a proxy that alters a service's answers. */
export async function alteringProxy(origin: string, alter: Alter) {
  let number = 0;
  const server = createServer((incoming, outgoing) => {
    const { method, headers, url = '' } = incoming;
    const passed = request(`${origin}${url}`, { method, headers }, (answer: IncomingMessage) => {
      number += 1;
      const own: Record<string, string | string[] | undefined> = { ...answer.headers };
      const { status, delayMs = 0, isCut } = alter({ path: url, number, headers: own }) ?? {};
      if (isCut) return void outgoing.destroy();
      setTimeout(() => {
        outgoing.writeHead(status ?? answer.statusCode ?? 500, own);
        answer.pipe(outgoing);
      }, delayMs);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
