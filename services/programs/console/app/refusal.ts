import { STATUS_CODES } from 'node:http';
import { type Duplex, finished, type Readable } from 'node:stream';
import { requestIdFrom } from '#edge/http';
import { faultOfParser } from '#edge/listen/listener';
import { faultReply } from '#edge/serve/reply';
import { Fault, faultFor, invalid } from '#errors/fault';

/**
 * Builds a refusal in the envelope of interface 7. Omits the header that asks for an API key,
 * because the console accepts no API keys.
 */
export function refusalOf(fault: Fault, requestId: string) {
  const { status, headers, body } = faultReply(fault, requestId);
  const { 'www-authenticate': _, ...others } = headers;
  return { status, headers: others, body };
}

/** Converts a framework error that the client caused. Returns undefined for other errors. */
export function faultOfFramework(error: { readonly code?: string; readonly statusCode?: number }) {
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return invalid('body_too_large', undefined, 'the body is too large');
  }
  const isOfCaller = (error.statusCode ?? 500) < 500 && error.code?.startsWith('FST_ERR_');
  return isOfCaller
    ? invalid('malformed_request', undefined, 'the request is malformed')
    : undefined;
}

/** Answers bytes that are not an HTTP request, and closes the connection. */
export function refuseBytes(
  error: Error & { code?: string },
  socket: Duplex,
  safety: Readonly<Record<string, string>>,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, headers, body } = refusalOf(faultOfParser(error.code), requestIdFrom(undefined));
  const all = {
    ...safety,
    ...headers,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('\r\n')}`;
  socket.end(`${head}\r\n\r\n${body}`);
}

/** Refusal of an unknown path. */
export function nothingHere(): Fault {
  return new Fault('not_found', 'this address does not exist');
}

/**
 * Content security policy: pages and scripts of this origin only, no inline code, no frames.
 * Source: decision 245.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

const ALWAYS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

/** HSTS for one year, in seconds. Subdomains are not included. */
const TRANSPORT_SECURITY = 'max-age=31536000';

/** Security headers of every answer, with any status. */
export function safetyHeaders(isSecure: boolean): Readonly<Record<string, string>> {
  return isSecure ? { ...ALWAYS, 'strict-transport-security': TRANSPORT_SECURITY } : ALWAYS;
}

/** Maximum concurrent requests. Further requests are refused. The console has few users. */
const ACTIVE_REQUESTS_MAX = 256;

/** Limits the number of requests that run concurrently. Each request holds a slot while it runs. */
export class ActiveRequests {
  #count = 0;

  /**
   * Returns the result of `act`. Throws `overloaded` if no slot is free. If `sentBy` returns a
   * stream of the result, the slot is held until the stream has ended or is destroyed.
   */
  async during<Result>(
    act: () => Promise<Result>,
    sentBy: (result: Result) => Readable | undefined = () => undefined,
  ): Promise<Result> {
    if (this.#count >= ACTIVE_REQUESTS_MAX) {
      throw faultFor('overloaded', 'too many requests in flight', { retryAfterS: 1 });
    }
    this.#count += 1;
    let content: Readable | undefined;
    try {
      const result = await act();
      content = sentBy(result);
      return result;
    } finally {
      if (content === undefined) this.#count -= 1;
      else
        finished(content, () => {
          this.#count -= 1;
        });
    }
  }
}
