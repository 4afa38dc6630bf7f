import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { digestOf, parseApiKey } from '#accounts/api-key';
import { Fault } from '#fault/fault';
import { putNewest } from '#platform/put-newest';
import type { RequestTrace } from '#platform/tracer';

/** A member of an account whom the console has signed in. */
type Member = { readonly userId: string; readonly sessionId: string };

/** Who calls, as far as the edge knows: the limiter decides whether a key is valid. */
export type Caller = {
  readonly accountId: string;
  /**
   * SHA-256 of the whole key: all that leaves this process of it. Of a member the id of the session,
   * which is the digest of no key.
   */
  readonly credential: string;
  /** Undefined: an API key calls. Source: decision 253. */
  readonly member?: Member | undefined;
};

/** One request and what the edge knows of it from its first hook on. */
export type Exchange = {
  /** The caller's `X-Request-Id`, or a new one. */
  readonly requestId: string;
  /** Monotonic time of the first byte, in milliseconds. */
  readonly startedMs: number;
  /** Undefined until authentication, and for ever where it failed. */
  caller: Caller | undefined;
  /** Undefined where nothing is traced. */
  readonly trace?: RequestTrace | undefined;
  /** Whether it has a slot: it is whole and not answered. */
  isActive: boolean;
};

type Carrier = FastifyRequest & { exchange: Exchange | undefined };

/** Ties an exchange to its request. */
export function attachExchange(request: FastifyRequest, exchange: Exchange): void {
  (request as Carrier).exchange = exchange;
}

/** The exchange of a request, if the first hook saw it. */
export function exchangeOf(request: FastifyRequest): Exchange | undefined {
  return (request as Carrier).exchange;
}

const SCHEME = 'bearer ';

/**
 * The caller that the `Authorization` header names. Throws `unauthorized` unless there is exactly
 * one such header, its scheme is Bearer and its key has the form and checksum of an API key: a
 * typing error is found without asking the limiter. Source: interface 5, decision 41.
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

/** Keys remembered; beyond, the one that was read first is forgotten. */
const CALLERS_MAX = 10_000;

/**
 * Callers by the header they sent, so that a key's checksum and digest are computed once and not at
 * every request. Remembering says nothing about a key being valid: the limiter is asked all the
 * same.
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

/** Throws `unauthorized` for two Authorization headers, of which Node would show only the first. */
function assertSentOnce(request: IncomingMessage): void {
  if (countOf(request.rawHeaders, 'authorization') <= 1) return;
  throw unauthorized('there are two Authorization headers');
}

/** The refusal of an unknown caller. */
export function unauthorized(why: string): Fault {
  return new Fault('unauthorized', why);
}

/** How often a header was sent: Node keeps the first of some. `rawHeaders` are names and values. */
export function countOf(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i];
    if (sent?.length === name.length && sent.toLowerCase() === name) count += 1;
  }
  return count;
}
