import { once } from 'node:events';
import { createServer } from 'node:net';

const HOST = '127.0.0.1';

/** First port of `freePort`. All its ports are below the ports that the system gives to clients. */
const FIRST = 10_500;

/** Ports of a process, and number of such blocks. */
const BLOCK = 100;
const BLOCKS = 95;

let given = 0;

/**
 * Returns a free port on loopback. Each process takes its ports in turn from its own block, so that
 * nobody else takes a port before its server listens.
 */
export async function freePort(): Promise<number> {
  const start = FIRST + (process.pid % BLOCKS) * BLOCK;
  for (let tries = 0; tries < BLOCK; tries += 1) {
    const port = start + (given % BLOCK);
    given += 1;
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port from ${start} to ${start + BLOCK - 1}: end other processes`);
}

async function isFree(port: number): Promise<boolean> {
  return assertPortFree(port, 'port').then(
    () => true,
    () => false,
  );
}

/** Throws a one-line error if the port is in use, or if this machine lacks the address. */
export async function assertPortFree(port: number, what: string, host = HOST): Promise<void> {
  const server = createServer().listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRNOTAVAIL') {
      throw new Error(`${what}: port ${port} of ${host} is taken`);
    }
    throw new Error(
      `${what}: this machine has no address ${host}; on macOS: sudo ifconfig lo0 alias ${host}`,
    );
  }
  server.close();
  await once(server, 'close');
}

/**
 * Returns the first of `count` consecutive free ports. Searches in steps of `count` from a random
 * start.
 */
export async function freeBlock(count: number, from = 20_000, to = 32_000): Promise<number> {
  const blocks = Math.floor((to - from) / count);
  const start = Math.floor(Math.random() * blocks);
  for (let step = 0; step < blocks; step += 1) {
    const first = from + ((start + step) % blocks) * count;
    const ports = Array.from({ length: count }, (_, index) => first + index);
    const checks = ports.map((port) => assertPortFree(port, 'block'));
    const seen = await Promise.allSettled(checks);
    if (seen.every(({ status }) => status === 'fulfilled')) return first;
  }
  throw new Error(
    `no ${count} consecutive free ports between ${from} and ${to}: end other processes`,
  );
}
