import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A link to a server with injectable faults. */
export type FaultyLink = AsyncDisposable & {
  /** `host:port` for clients. */
  readonly address: string;
  /** Drops all further answers on open connections. */
  silence(): void;
  /** Breaks every connection. */
  cut(): void;
  /** Accepts or refuses new connections. */
  setOpen(isOpen: boolean): void;
  /** Number of accepted connections. */
  readonly connections: number;
  /** Number of connections that are still open after a second. */
  connectionsLeft(): Promise<number>;
};

/** Opens a loopback link to the server at `target` (`host:port`). */
export async function openFaultyLink(target: string): Promise<FaultyLink> {
  const [host = '', port = ''] = target.split(':');
  const pairs = new Set<{ inner: Socket; outer: Socket }>();
  let isTaking = true;
  let connections = 0;
  const server: Server = createServer((outer) => {
    if (!isTaking) return void outer.destroy();
    connections += 1;
    const inner = connect(Number(port), host);
    const pair = { inner, outer };
    pairs.add(pair);
    outer.pipe(inner);
    inner.pipe(outer);
    const close = () => {
      pairs.delete(pair);
      inner.destroy();
      outer.destroy();
    };
    for (const socket of [inner, outer]) socket.on('error', close).on('close', close);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const listening = server.address();
  if (listening === null || typeof listening === 'string') throw new Error('no port');
  const cut = () => {
    for (const { outer } of pairs) outer.destroy();
  };
  return {
    address: `127.0.0.1:${listening.port}`,
    silence: () => {
      for (const { inner, outer } of pairs) inner.unpipe(outer).resume();
    },
    cut,
    setOpen: (isOpen) => {
      isTaking = isOpen;
    },
    get connections() {
      return connections;
    },
    async connectionsLeft() {
      for (let looks = 0; looks < 20 && pairs.size > 0; looks += 1) await delay(50);
      return pairs.size;
    },
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
