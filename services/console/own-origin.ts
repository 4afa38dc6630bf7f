import type { IncomingHttpHeaders } from 'node:http';
import { faultFor, invalid } from '#fault/fault';

/** What of a request says where it comes from. */
type Request = { readonly method: string; readonly headers: IncomingHttpHeaders };

/** A name or an address, with or without a port, and nothing else that a URL may have. */
const HOST = /^(?:[\w.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** Characters of a host that a refusal repeats: a name of DNS has no more. */
const HOST_LENGTH_SHOWN = 253;

const JSON_TYPE = /^application\/json\s*(?:;\s*charset=utf-8\s*)?$/i;

/**
 * Where a console without a public origin is reached: on this machine, first by the host that it listens on.
 */
export function loopbackOrigins(listenHost: string, port: number): string[] {
  const own = listenHost.includes(':') ? `[${listenHost}]` : listenHost;
  const hosts = new Set([own, '127.0.0.1', 'localhost', '[::1]']);
  return [...hosts].map((host) => new URL(`http://${host}:${port}`).origin);
}

/**
 * Throws unless a request is for one of the console's own origins and, if it could change something,
 * comes from a page of that origin: `Origin` must be it, `Sec-Fetch-Site` must not say otherwise, and
 * the body must be of the type that no form sends. A request with `Authorization` is refused, so that
 * no API key is ever sent here with success. Source: decision 245.
 */
export function assertOwnRequest({ method, headers }: Request, origins: readonly string[]): void {
  const own = origins.find((origin) => isHostOf(origin, headers.host));
  if (own === undefined) {
    throw faultFor('wrong_host', wrongHostText(headers.host, origins), { field: 'Host' });
  }
  if (headers.authorization !== undefined) {
    const text = 'the console takes no API keys: sign in with email and password';
    throw faultFor('api_key_not_accepted', text, { field: 'Authorization' });
  }
  if (method === 'GET' || method === 'HEAD') return;
  const site = headers['sec-fetch-site'];
  if (headers.origin !== own || (site !== undefined && site !== 'same-origin')) {
    throw faultFor('cross_site_request', 'this comes from a page of another site');
  }
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) {
    throw invalid('unsupported_media_type', 'Content-Type', 'Content-Type: application/json');
  }
}

/** What was asked, where the console is, and the variable that says so. */
function wrongHostText(host: string | undefined, origins: readonly string[]): string {
  const asked =
    host === undefined ? 'the request names no host' : `${quoted(host)} is not served here`;
  const own = origins[0] ?? 'not open yet';
  return `${asked}: this console is ${own} (SERVICE_CONSOLE_ORIGIN)`;
}

function quoted(host: string): string {
  return JSON.stringify(host.slice(0, HOST_LENGTH_SHOWN));
}

function isHostOf(origin: string, host: string | undefined): boolean {
  if (host === undefined || !HOST.test(host)) return false;
  const { protocol } = new URL(origin);
  return URL.parse(`${protocol}//${host}`)?.origin === origin;
}
