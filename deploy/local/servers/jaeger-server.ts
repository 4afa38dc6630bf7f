import { foundJaeger } from '#deploy/local/install/jaeger';
import { freeBlock } from '#deploy/local/servers/free-port';
import {
  type LocalServer,
  type ServerPlace,
  startServer,
} from '#deploy/local/servers/local-server';

/** Maximum start time, in ms. A start takes half a second on an idle machine. */
const READY_MS_MAX = 30_000;

/** Maximum time of a readiness check, in milliseconds. */
const ASK_MS_MAX = 2_000;

/** Maximum number of traces in memory: far more than a test creates. */
const TRACES_MAX = 10_000;

/** Jaeger's listeners, each on its own port. Clients use the first two listeners. */
const LISTENERS = [
  'query.http-server',
  'collector.otlp.http',
  'query.grpc-server',
  'collector.otlp.grpc',
  'collector.grpc-server',
  'collector.http-server',
  'admin.http',
] as const;

/**
 * Starts Jaeger on loopback with traces in memory. Resolves when Jaeger answers. `address` is its
 * query API. Throws `MissingServer` if Jaeger is not installed.
 */
export async function startJaeger(place: ServerPlace): Promise<LocalServer> {
  const program = foundJaeger();
  const first = await freeBlock(LISTENERS.length);
  const ports = LISTENERS.map((name, index) => `--${name}.host-port=127.0.0.1:${first + index}`);
  const address = `http://127.0.0.1:${first}`;
  return startServer(place, {
    name: 'jaeger',
    program,
    args: [...ports, `--memory.max-traces=${TRACES_MAX}`, '--log-level=warn'],
    address,
    readyMsMax: READY_MS_MAX,
    ask: () => servicesAt(address),
  });
}

/** OTLP endpoint of the Jaeger with this query API, for `SERVICE_OTLP_ENDPOINT`. */
export function otlpEndpointOf(address: string): string {
  const url = new URL(address);
  return `${url.protocol}//${url.hostname}:${Number(url.port) + 1}`;
}

async function servicesAt(address: string): Promise<void> {
  const signal = AbortSignal.timeout(ASK_MS_MAX);
  const response = await fetch(`${address}/api/services`, { signal });
  if (!response.ok) throw new Error(`Jaeger answers ${response.status}`);
}
