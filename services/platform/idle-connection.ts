/**
 * How long a listener keeps a connection without a request, in milliseconds: longer than clients and load
 * balancers keep one, so that none of them sends a request over a connection that just ends. Chosen.
 */
export const IDLE_CONNECTION_MS_MAX = 72_000;
