import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { digestOf, parseApiKey } from '#accounts/api-key';
import { Fault } from '#errors/fault';
import { putNewest } from '#stdlib/put-newest';
import type { RequestTrace } from '#telemetry/tracer';

/** A member of an account, signed in by the console. */
type Member = { readonly userId: string; readonly sessionId: string };

/** The caller according to the request. The limiter decides whether the key is valid. */
export type Caller = {
  readonly accountId: string;
  /**
   * SHA-256 of the whole API key. The key itself never leaves this process.
   *
   * For a member, the id of the session, which is no key digest.
   */
  readonly credential: string;
  /** Set if a member calls; undefined if an API key calls. Source: decision 253. */
  readonly member?: Member | undefined;
};

/** One request and its state in the edge, from the first hook until the answer. */
export type Exchange = {
  /** The caller's `X-Request-Id`, or a new one. */
  readonly requestId: string;
  /** Monotonic time of the first byte, in milliseconds. */
  readonly startedMs: number;
  /** Undefined until authentication, and after a failed authentication. */
  caller: Caller | undefined;
  /** Undefined if the request is not traced. */
  readonly trace?: RequestTrace | undefined;
  /** Whether the request counts as active: complete and not answered. */
  isActive: boolean;
};

type Carrier = FastifyRequest & { exchange: Exchange | undefined };

/** Attaches an exchange to its request. */
export function attachExchange(request: FastifyRequest, exchange: Exchange): void {
  (request as Carrier).exchange = exchange;
}

/** The exchange of a request; undefined if the first hook has not run. */
export function exchangeOf(request: FastifyRequest): Exchange | undefined {
  return (request as Carrier).exchange;
}

const SCHEME = 'bearer ';

/**
 * Parses the caller from the `Authorization` header. Source: interface 5, decision 41.
 *
 * Throws `unauthorized` unless the request has exactly one such header, with the scheme Bearer and
 * a key of valid form and checksum. So typing errors are found without a call to the limiter.
 */
export function readCaller(request: IncomingMessage): Caller {
  const { authorization } = request.headers;
  if (authorization === undefined) throw unauthorized('send Authorization: Bearer <API key>');
  assertSentOnce(request);
  if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME) {
    throw unauthorized('only the Bearer scheme is accepted');
  }
  const key = authorization.slice(SCHEME.length);
  const parsed = parseApiKey(key);
  if (parsed === undefined) throw unauthorized('the API key is malformed');
  return { accountId: parsed.accountId, credential: digestOf(key) };
}

/** Maximum number of cached keys. The cache evicts the oldest entry. */
const CALLERS_MAX = 10_000;

/**
 * Cache of callers by `Authorization` header, so that checksum and digest of a key are computed
 * once. A cached key need not be valid: the limiter is asked about every call.
 */
export class CallerCache {
  readonly #known = new Map<string, Caller>();

  /** The caller of a request. Throws `unauthorized` like `readCaller`. */
  read(request: IncomingMessage): Caller {
    const { authorization } = request.headers;
    const known = authorization === undefined ? undefined : this.#known.get(authorization);
    if (known !== undefined) {
      assertSentOnce(request);
      return known;
    }
    const caller = readCaller(request);
    putNewest(this.#known, authorization ?? '', caller, CALLERS_MAX);
    return caller;
  }
}

/** Throws `unauthorized` for more than one Authorization header. Node shows only the first. */
function assertSentOnce(request: IncomingMessage): void {
  if (countOf(request.rawHeaders, 'authorization') <= 1) return;
  throw unauthorized('send exactly one Authorization header');
}

/** A fault `unauthorized` with the text `why`. */
export function unauthorized(why: string): Fault {
  return new Fault('unauthorized', why);
}

/**
 * Number of times that a header was sent; Node keeps only the first of some headers.
 *
 * `rawHeaders` alternates names and values. `name` is in lower case.
 */
export function countOf(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i];
    if (sent?.length === name.length && sent.toLowerCase() === name) count += 1;
  }
  return count;
}
