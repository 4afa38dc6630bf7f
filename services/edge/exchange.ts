import type { FastifyRequest } from 'fastify';
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
