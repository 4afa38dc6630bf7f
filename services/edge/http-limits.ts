import { IDLE_CONNECTION_MS_MAX } from '#platform/idle-connection';

/**
 * How the listener protects itself. Source: attacks, "Fastify hardening recipe"; times in
 * milliseconds, sizes in bytes.
 */
export const HTTP_LIMITS = {
  logger: false,
  exposeHeadRoutes: false,
  requestIdHeader: false,
  return503OnClosing: false,
  forceCloseConnections: 'idle',
  /** The largest body, a batch's; that of other endpoints is `BODY_BYTES_MAX`. */
  bodyLimit: 256 * 1_024,
  keepAliveTimeout: IDLE_CONNECTION_MS_MAX,
  requestTimeout: 10_000,
  /**
   * How long nothing may move on a connection that has a request: longer than any call takes. While
   * an answer waits that is not read, `edge/unread-answers` decides instead.
   */
  connectionTimeout: 15_000,
  routerOptions: { caseSensitive: true, ignoreTrailingSlash: false, maxParamLength: 200 },
  http: {
    maxHeaderSize: 8 * 1_024,
    headersTimeout: 5_000,
    requestTimeout: 10_000,
    /**
     * Node looks for slow senders this often; its default of 30 s lets them stand. Thousands that
     * began together end together: a tenth of a second's worth at once delays no other connection.
     */
    connectionsCheckingInterval: 100,
    /** A missing Host is answered in the envelope. */
    requireHostHeader: false,
  },
} as const;

/** Bytes of any body but a batch's. Source: attacks, "hardening recipe". */
export const BODY_BYTES_MAX = 32 * 1_024;

/**
 * Requests on one connection before it is closed with an answer, so that balancers get to choose
 * again. Node's own option of this name answers those that come after it in words of its own.
 */
export const REQUESTS_PER_SOCKET_MAX = 10_000;
