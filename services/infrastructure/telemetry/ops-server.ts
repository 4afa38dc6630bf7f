import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, isIP, isIPv6 } from 'node:net';
import { IDLE_CONNECTION_MS_MAX, isLoopbackAddress, isLoopbackHost } from '#stdlib/network';
import type { Running } from '#stdlib/run';
import type { Metrics } from '#telemetry/metrics';

/** Options of the operators' port. */
type OpsOptions = {
  readonly host: string;
  /** Port; 0 chooses a free port. */
  readonly port: number;
  readonly metrics: Metrics;
  /**
   * Whether the process can serve: it has joined its cluster at least once, its configuration is
   * valid, and it is not draining.
   */
  readonly isReady: () => boolean;
  /** Further accepted names of this port, besides IP addresses and host names without a dot. */
  readonly names: readonly string[];
  /** Lines for operators in the readiness probe, for example why the process is not ready. */
  readonly notes: () => readonly string[];
};

/**
 * Serves the operators' port: `/metrics` for Prometheus, `/health/live` (the event loop answers)
 * and `/health/ready`. The probes never query a dependency. Source: operations, "Probes".
 */
export async function serveOps(options: OpsOptions): Promise<Running> {
  const server = createServer({ keepAliveTimeout: IDLE_CONNECTION_MS_MAX }, (request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    if (!isAddressed(request.headers.host, options)) {
      answer(
        response,
        403,
        'the Host header does not name this port: add the name to SERVICE_METRICS_NAMES\n',
      );
    } else if (request.method !== 'GET') answer(response, 404, 'Not Found\n');
    else if (path === '/metrics') scrape(options.metrics, request.headers.accept, response);
    else if (path === '/health/live') answer(response, 200, 'live\n');
    else if (path !== '/health/ready') answer(response, 404, 'Not Found\n');
    else readiness(options, response);
  });
  server.listen(options.port, options.host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    address: `http://${isIPv6(options.host) ? `[${options.host}]` : options.host}:${port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/**
 * Whether a `Host` header names this port. A web page whose name resolves to this machine (DNS
 * rebinding) still sends its own name, which contains a dot. Programs that send no `Host` header
 * are not browsers.
 */
function isAddressed(header: string | undefined, { host, names }: OpsOptions): boolean {
  if (header === undefined || isLoopbackHost(header)) return true;
  const name = header.replace(/:\d{1,5}$/, '').toLowerCase();
  if (names.includes(name)) return true;
  if (isLoopbackAddress(host)) return false;
  return isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || /^[a-z0-9_-]+$/.test(name);
}

function readiness({ isReady, notes }: OpsOptions, response: ServerResponse): void {
  const [status, word] = isReady() ? [200, 'ready'] : [503, 'not ready'];
  answer(response, status, `${[word, ...notes()].join('\n')}\n`);
}

function scrape(metrics: Metrics, accept: string | undefined, response: ServerResponse): void {
  metrics.scrape(accept).then(
    ({ contentType, text }) => {
      response.setHeader('content-type', contentType);
      response.end(text);
    },
    () => answer(response, 500, 'the metrics could not be gathered\n'),
  );
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.statusCode = status;
  response.setHeader('content-type', 'text/plain; charset=utf-8');
  response.end(text);
}
