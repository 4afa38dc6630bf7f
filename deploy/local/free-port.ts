import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A port of the loopback address that nobody listens on right now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Throws an error of one line when somebody listens on this port of the loopback address. */
export async function assertPortFree(port: number, what: string): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    throw new Error(`${what}: port ${port} of 127.0.0.1 is taken`);
  }
  server.close();
  await once(server, 'close');
}
