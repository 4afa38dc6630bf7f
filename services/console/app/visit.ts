import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { AuditLine } from '#console/people/audit';
import { faultFor, invalid } from '#fault/fault';

/** Where a request comes from, and what its browser has shown. */
export type Visit = {
  readonly requestId: string;
  readonly address: string;
  /** What the browser calls itself, cut to `CLIENT_LENGTH_MAX`. */
  readonly client: string;
  readonly shown: ShownCookies;
};

/** UTF-16 units that are kept of a `User-Agent`. */
export const CLIENT_LENGTH_MAX = 200;

/** What the audit trail says of a visit. */
export function originOf({ address, requestId }: Visit): Pick<AuditLine, 'address' | 'requestId'> {
  return { address, requestId };
}

/** What a browser has shown. */
type ShownCookies = {
  readonly session: string | undefined;
  readonly device: string | undefined;
};

/** How long a browser is remembered after a sign-in, in seconds: 180 days. Source: decision 246. */
const DEVICE_S_MAX = 180 * 24 * 60 * 60;

/** No script reads them, and no other site's page makes a browser send them. Source: decision 245. */
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict';

/**
 * The cookies of the console. Over TLS their names begin with `__Host-`, with which a browser takes
 * them from this host alone, over TLS alone.
 */
export function cookiesOf(isSecure: boolean) {
  const [prefix, attributes] = isSecure ? ['__Host-', `${ATTRIBUTES}; Secure`] : ['', ATTRIBUTES];
  const [session, device] = [`${prefix}session`, `${prefix}device`];
  return {
    /** What a `Cookie` header shows. One that comes twice counts as none. */
    read(header: string | undefined): ShownCookies {
      const pairs = (header ?? '').split(';').map((pair) => pair.trim());
      const shown = (name: string) => {
        const found = pairs.filter((pair) => pair.startsWith(`${name}=`));
        return found.length === 1 ? found[0]?.slice(name.length + 1) : undefined;
      };
      return { session: shown(session), device: shown(device) };
    },
    /** Sets the value of the session, for as long as the browser is open. */
    session: (value: string) => `${session}=${value}; ${attributes}`,
    /** Takes the session away. */
    noSession: () => `${session}=; Max-Age=0; ${attributes}`,
    /** Has the browser remembered. */
    device: (value: string) => `${device}=${value}; Max-Age=${DEVICE_S_MAX}; ${attributes}`,
  };
}

/** The cookies of one console. */
export type Cookies = ReturnType<typeof cookiesOf>;

/** What a route answers: a status, JSON for the envelope's `data`, and cookies to set. */
export type Answer = {
  readonly status: number;
  readonly data?: unknown;
  /** Beside `data`, of a list in pages. */
  readonly pagination?: object;
  /** Instead of JSON: what is saved under a name. */
  readonly file?: { readonly name: string; readonly type: string; readonly content: Readable };
  readonly cookies?: readonly string[];
};

/** 200 with data. */
export function shown(data: unknown, cookies: readonly string[] = []): Answer {
  return { status: 200, data, cookies };
}

/** 201 with what was made. */
export function made(data: unknown, cookies: readonly string[] = []): Answer {
  return { status: 201, data, cookies };
}

/** 204: it is done, and there is nothing to say of it. */
export function done(cookies: readonly string[] = []): Answer {
  return { status: 204, cookies };
}

/** 200 with a file that is saved under a name. */
export function saved(name: string, type: string, content: Readable): Answer {
  return { status: 200, file: { name, type, content } };
}

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
