import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { AuditLine } from '#console/people/audit';
import { faultFor, invalid } from '#errors/fault';

/** Origin of a request, and the cookies of its browser. */
export type Visit = {
  readonly requestId: string;
  readonly address: string;
  /** `User-Agent`, cut to `CLIENT_LENGTH_MAX`. */
  readonly client: string;
  readonly shown: ShownCookies;
};

/** Maximum length of a stored `User-Agent`, in UTF-16 units. */
export const CLIENT_LENGTH_MAX = 200;

/** Audit fields that describe the origin of a request. */
export function originOf({ address, requestId }: Visit): Pick<AuditLine, 'address' | 'requestId'> {
  return { address, requestId };
}

/** Cookies that a browser sent. */
type ShownCookies = {
  readonly session: string | undefined;
  readonly device: string | undefined;
};

/** Lifetime of the device cookie, in seconds: 180 days. Source: decision 246. */
const DEVICE_S_MAX = 180 * 24 * 60 * 60;

/**
 * Cookie attributes: scripts cannot read the cookies, and other sites cannot make a browser send
 * them. Source: decision 245.
 */
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict';

/**
 * Reads and writes the console's cookies. Over TLS, the names start with `__Host-`: browsers then
 * accept them only from this host and only over TLS.
 */
export function cookiesOf(isSecure: boolean) {
  const [prefix, attributes] = isSecure ? ['__Host-', `${ATTRIBUTES}; Secure`] : ['', ATTRIBUTES];
  const [session, device] = [`${prefix}session`, `${prefix}device`];
  return {
    /** Reads a `Cookie` header. A cookie that occurs twice is ignored. */
    read(header: string | undefined): ShownCookies {
      const pairs = (header ?? '').split(';').map((pair) => pair.trim());
      const shown = (name: string) => {
        const found = pairs.filter((pair) => pair.startsWith(`${name}=`));
        return found.length === 1 ? found[0]?.slice(name.length + 1) : undefined;
      };
      return { session: shown(session), device: shown(device) };
    },
    /** Sets the session cookie until the browser closes. */
    session: (value: string) => `${session}=${value}; ${attributes}`,
    /** Removes the session cookie. */
    noSession: () => `${session}=; Max-Age=0; ${attributes}`,
    /** Sets the device cookie, which identifies the browser. */
    device: (value: string) => `${device}=${value}; Max-Age=${DEVICE_S_MAX}; ${attributes}`,
  };
}

/** Reads and writes a console's cookies. */
export type Cookies = ReturnType<typeof cookiesOf>;

/** Answer of a route: status, `data` of the JSON envelope, and cookies to set. */
export type Answer = {
  readonly status: number;
  readonly data?: unknown;
  /** Pagination of a list, beside `data`. */
  readonly pagination?: object;
  /** Download with file name, instead of JSON. */
  readonly file?: { readonly name: string; readonly type: string; readonly content: Readable };
  readonly cookies?: readonly string[];
};

/** 200 with data. */
export function shown(data: unknown, cookies: readonly string[] = []): Answer {
  return { status: 200, data, cookies };
}

/** 201 with the created object. */
export function made(data: unknown, cookies: readonly string[] = []): Answer {
  return { status: 201, data, cookies };
}

/** 204 without content. */
export function done(cookies: readonly string[] = []): Answer {
  return { status: 204, cookies };
}

/** 200 with a file to download. */
export function saved(name: string, type: string, content: Readable): Answer {
  return { status: 200, file: { name, type, content } };
}

/** Parts of a request that show where the request comes from. */
type Request = { readonly method: string; readonly headers: IncomingHttpHeaders };

/** Host name or address with optional port. Other parts of a URL are not allowed. */
const HOST = /^(?:[\w.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** Maximum length of a host repeated in a refusal: the limit of DNS names. */
const HOST_LENGTH_SHOWN = 253;

const JSON_TYPE = /^application\/json\s*(?:;\s*charset=utf-8\s*)?$/i;

/** Origins of a console without a public origin: loopback addresses, the listen host first. */
export function loopbackOrigins(listenHost: string, port: number): string[] {
  const own = listenHost.includes(':') ? `[${listenHost}]` : listenHost;
  const hosts = new Set([own, '127.0.0.1', 'localhost', '[::1]']);
  return [...hosts].map((host) => new URL(`http://${host}:${port}`).origin);
}

/**
 * Checks that a request is for one of the console's origins. A request that can change something
 * must come from a page of the same origin: `Origin` must match, `Sec-Fetch-Site` must be absent or
 * `same-origin`, and the body must be JSON, which no HTML form can send.
 *
 * A request with `Authorization` is refused, so that nobody sends API keys here. Throws
 * `wrong_host`, `api_key_not_accepted`, `cross_site_request` or `unsupported_media_type`. Source:
 * decision 245.
 */
export function assertOwnRequest({ method, headers }: Request, origins: readonly string[]): void {
  const own = origins.find((origin) => isHostOf(origin, headers.host));
  if (own === undefined) {
    throw faultFor('wrong_host', wrongHostText(headers.host, origins), { field: 'Host' });
  }
  if (headers.authorization !== undefined) {
    const text = 'the console accepts no API keys; sign in with email and password';
    throw faultFor('api_key_not_accepted', text, { field: 'Authorization' });
  }
  if (method === 'GET' || method === 'HEAD') return;
  const site = headers['sec-fetch-site'];
  if (headers.origin !== own || (site !== undefined && site !== 'same-origin')) {
    throw faultFor('cross_site_request', 'the request comes from a page of another site');
  }
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) {
    throw invalid('unsupported_media_type', 'Content-Type', 'must be application/json');
  }
}

/**
 * Error text with the requested host, the console's origin, and the variable that configures the
 * origin.
 */
function wrongHostText(host: string | undefined, origins: readonly string[]): string {
  const asked =
    host === undefined
      ? 'the request has no Host header'
      : `${quoted(host)} is not an address of this console`;
  const [own] = origins;
  if (own === undefined) return `${asked}: the console is starting, retry`;
  return `${asked}: use ${own}, or change SERVICE_CONSOLE_ORIGIN`;
}

function quoted(host: string): string {
  return JSON.stringify(host.slice(0, HOST_LENGTH_SHOWN));
}

function isHostOf(origin: string, host: string | undefined): boolean {
  if (host === undefined || !HOST.test(host)) return false;
  const { protocol } = new URL(origin);
  return URL.parse(`${protocol}//${host}`)?.origin === origin;
}
