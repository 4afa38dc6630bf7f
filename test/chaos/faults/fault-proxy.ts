import { installedToxiproxy } from '#deploy/local/install/toxiproxy';
import type { Print } from '#deploy/local/progress';
import { freePort } from '#deploy/local/servers/free-port';
import {
  type LocalServer,
  type ServerPlace,
  startServer,
} from '#deploy/local/servers/local-server';

/** Maximum start time in ms; usually 20 ms, longer on a busy machine. */
const READY_MS_MAX = 20_000;

/** Timeout of a proxy command, in milliseconds. */
const ANSWER_MS_MAX = 5_000;

/** Faults of connections. Source: documentation of toxiproxy, "Toxics". */
export type Toxic =
  | { readonly type: 'latency'; readonly attributes: { latency: number; jitter: number } }
  | { readonly type: 'bandwidth'; readonly attributes: { rate: number } }
  | { readonly type: 'reset_peer'; readonly attributes: { timeout: number } }
  /** Timeout 0 blocks all data, but keeps the connection open (half-open). */
  | { readonly type: 'timeout'; readonly attributes: { timeout: number } };

/** Direction: server to client, or client to server. */
type Stream = 'downstream' | 'upstream';

/** TCP proxy that injects faults into the connections to a server. */
export type FaultProxy = AsyncDisposable & {
  /** Address for clients, `host:port`. */
  readonly address: string;
  /** Injects a fault into one direction of all open and new connections. */
  add(toxic: Toxic, stream: Stream): Promise<void>;
  /** Removes all faults. */
  heal(): Promise<void>;
};

/** Starts a proxy on `port` for the server `upstream` (`host:port`). Throws `MissingServer`. */
export async function startFaultProxy(
  place: ServerPlace,
  { port, upstream, print }: { port: number; upstream: string; print: Print },
): Promise<FaultProxy> {
  const program = await installedToxiproxy(print);
  const api = await freePort();
  const url = `http://127.0.0.1:${api}`;
  const server: LocalServer = await startServer(place, {
    name: 'toxiproxy',
    program,
    args: ['-host', '127.0.0.1', '-port', `${api}`],
    address: url,
    readyMsMax: READY_MS_MAX,
    ask: () => command(`${url}/version`, 'GET'),
  });
  const address = `127.0.0.1:${port}`;
  await command(`${url}/proxies`, 'POST', { name: 'store', listen: address, upstream });
  return {
    address,
    add: (toxic, stream) =>
      command(`${url}/proxies/store/toxics`, 'POST', {
        ...toxic,
        name: `${toxic.type}-${stream}`,
        stream,
      }),
    heal: () => command(`${url}/reset`, 'POST'),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function command(url: string, method: 'GET' | 'POST', body?: object): Promise<void> {
  const response = await fetch(url, {
    method,
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`the fault proxy answered ${response.status}: ${text}`);
}
