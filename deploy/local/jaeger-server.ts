import { freeBlock } from '#deploy/local/free-port';
import { foundJaeger } from '#deploy/local/jaeger-install';
import { type LocalServer, type ServerPlace, startServer } from '#deploy/local/local-server';

/** Starting takes half a second; the rest is a busy machine. */
const READY_MS_MAX = 30_000;

/** How long one look may take, in milliseconds. */
const ASK_MS_MAX = 2_000;

/** Traces that it keeps: what a test makes, many times over. */
const TRACES_MAX = 10_000;

/** Its listeners, each at a port of its own; the first two are what others use. */
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
 * Starts Jaeger on loopback with its traces in memory; fulfils when it answers. Its address is that of
 * its query API. Throws `MissingServer` where it is not installed.
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

/** Where the Jaeger with this query API takes spans: the endpoint for `SERVICE_OTLP_ENDPOINT`. */
export function otlpEndpointOf(address: string): string {
  const url = new URL(address);
  return `${url.protocol}//${url.hostname}:${Number(url.port) + 1}`;
}

async function servicesAt(address: string): Promise<void> {
  const signal = AbortSignal.timeout(ASK_MS_MAX);
  const response = await fetch(`${address}/api/services`, { signal });
  if (!response.ok) throw new Error(`it answers ${response.status}`);
}
