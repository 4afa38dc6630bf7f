import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { z } from 'zod';
import { HttpCaller } from '#bench/load/http-caller';
import { at } from '#bench/load/process-answer';
import { CYCLES_PER_MONTH, REQUESTS_PER_MINUTE } from '#bench/processes/service';
import { adminClient } from '#ctl/admin-client';

/** Maximum number of streams per API key. Source: decision 244. */
const STREAMS_PER_KEY = 20;
/** Maximum number of API keys per account. Source: decision 244. */
const KEYS_PER_ACCOUNT = 5;

/** Number of streams to open concurrently. */
const OPENING = 50;

/** Maximum wait for the first event of a stream, in ms. */
const OPEN_MS_MAX = 20_000;

/** An idle instance, and an API key that may read its events. */
export type Followable = { readonly id: string; readonly key: string };

const Account = z.object({ id: z.string() });
const Key = z.object({ key: z.string() });

/** Creates `count` instances, with enough accounts and keys to open a stream for each instance. */
export async function followables(
  address: string,
  adminPort: number,
  count: number,
): Promise<Followable[]> {
  const client = adminClient(`http://127.0.0.1:${adminPort}`);
  const limits = {
    requests_per_minute: Number(REQUESTS_PER_MINUTE),
    cycles_per_month: Number(CYCLES_PER_MONTH),
  };
  const found: Followable[] = [];
  while (found.length < count) {
    const account = { name: 'events', plan: 'enterprise', limits };
    const { id } = await client.ask(Account, 'POST', '/accounts', account);
    for (let keys = 0; keys < KEYS_PER_ACCOUNT && found.length < count; keys += 1) {
      const asked = { scope: 'full' };
      const { key } = await client.ask(Key, 'POST', `/accounts/${id}/keys`, asked);
      using caller = new HttpCaller(address, key);
      const create = { method: 'POST', path: '/v1/instances', body: '{"name":"idle"}' } as const;
      const idOf = (answer: unknown) => String(at(answer, ['data', 'id']));
      const size = Math.min(STREAMS_PER_KEY, count - found.length);
      const ids = await caller.sendAll(size, () => create, idOf);
      found.push(...ids.map((instance) => ({ id: instance, key })));
    }
  }
  return found;
}

/** Open event streams. Disposal closes the streams. */
export type OpenStreams = Disposable & {
  /** Number of streams ended by the service. */
  readonly ended: number;
};

/** Opens a stream per instance and waits for the first state on each stream. */
export async function openStreams(
  address: string,
  followed: readonly Followable[],
): Promise<OpenStreams> {
  const sockets: Socket[] = [];
  let ended = 0;
  let next = 0;
  const opener = async (): Promise<void> => {
    for (let target = followed[next]; target !== undefined; target = followed[next]) {
      next += 1;
      const socket = await openStream(address, target);
      socket.once('close', () => {
        ended += 1;
      });
      sockets.push(socket);
    }
  };
  await Promise.all(Array.from({ length: OPENING }, opener));
  return {
    get ended() {
      return ended;
    },
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

async function openStream(address: string, { id, key }: Followable): Promise<Socket> {
  const { hostname, port, host } = new URL(address);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined);
  const head = `GET /v1/instances/${id}/events HTTP/1.1\r\nHost: ${host}\r\n`;
  socket.write(`${head}Authorization: Bearer ${key}\r\n\r\n`);
  const signal = AbortSignal.timeout(OPEN_MS_MAX);
  for (let begun = ''; !begun.includes('event: state'); ) {
    const [chunk] = await once(socket, 'data', { signal });
    begun += chunk;
    if (!begun.startsWith('HTTP/1.1 200'))
      throw new Error(`the event stream was refused: ${begun}`);
  }
  // Only keep-alive data follows; discard it.
  socket.resume();
  return socket;
}
