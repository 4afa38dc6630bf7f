import { setTimeout as sleep } from 'node:timers/promises';
import {
  connect,
  type NatsConnection,
  type NodeConnectionOptions,
  type TlsOptions,
} from '@nats-io/transport-node';
import type { Bus } from '#bus/bus';
import { Fault } from '#errors/fault';
import { type ClientTls, tlsOptionsOf } from '#stdlib/certificates';
import { type Clock, withinMs } from '#stdlib/clock';
import type { Reloadable } from '#stdlib/files';
import { Dependency } from '#telemetry/dependency';
import { LogRateLimit } from '#telemetry/log-limits';
import type { Logger } from '#telemetry/logger';

type UserAndPassword = { readonly username: string; readonly password: string };

/** Options of a NATS bus. */
export type NatsBusOptions = {
  /** URLs of the servers, `nats://host:port`. One reachable server is sufficient. */
  readonly servers: readonly string[];
  /** Client name shown on the server's monitoring pages. */
  readonly name: string;
  readonly clock: Clock;
  /**
   * Credentials, read again for every connection attempt. Existing connections stay open after a
   * change.
   */
  readonly credentials?: Reloadable<UserAndPassword> | undefined;
  /** If set, all traffic uses TLS; otherwise plain text. */
  readonly tls?: Reloadable<ClientTls> | undefined;
  /**
   * Maximum duration of the first connection with its retries, in milliseconds. Default:
   * `CONNECT_TIMEOUT_MS`.
   */
  readonly connectTimeoutMs?: number;
  /**
   * Receives an error thrown by a listener, which is a bug. Other listeners still get the message.
   */
  readonly onBug: (error: unknown) => void;
  /** Logs refusals by the server, and the connection state if `dependency` is undefined. */
  readonly logger: Logger;
  /** Logs when the connection is lost and restored. Created by the bus if undefined. */
  readonly dependency?: Dependency;
};

/**
 * Default timeout of the first connection, in milliseconds. Long enough for a server that starts at
 * the same time as this process.
 */
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Constant pause between connection attempts, in milliseconds. A server that returns is found
 * within half a heartbeat.
 */
const RECONNECT_WAIT_MS = 500;

/** Timeout of one connection attempt, in milliseconds. */
const DIAL_TIMEOUT_MS = 2_000;

/** Interval between pings to the server, in milliseconds. */
const PING_INTERVAL_MS = 1_000;

/**
 * Number of unanswered pings after which the connection is dropped. A silent server is thus dropped
 * within 3 s, before other nodes miss the heartbeats of this node (architecture 3).
 */
const PINGS_UNANSWERED_MAX = 2;

/**
 * Maximum number of bytes published since the server's last answer. Further messages are dropped.
 * The signed announcements of 256 shards with the longest epochs fit. A larger bound would be
 * harmful: while the kernel does not accept bytes, the driver does not switch from a frozen server
 * to another.
 */
const UNCONFIRMED_BYTES_MAX = 128 * 1_024;

/** Maximum wait for the server to accept published messages while closing, in milliseconds. */
const DRAIN_TIMEOUT_MS = 1_000;

/**
 * Opens a bus over NATS core subjects. Rejects with `service_unavailable` if no server can be
 * reached in time. After that, the bus reconnects for ever.
 */
export async function openNatsBus(options: NatsBusOptions): Promise<Bus> {
  const connection = await firstConnection(options);
  const { clock, onBug, logger } = options;
  const state = { isConnected: true };
  const isConnected = (): boolean => state.isConnected && !connection.isClosed();
  const unconfirmed = new UnconfirmedBytes(connection);
  const address = options.servers.join(',');
  const { dependency = new Dependency({ name: 'NATS', address, clock, logger }) } = options;
  void follow(connection, state, logger, dependency);

  const fullNotices = new LogRateLimit(clock);
  const warnOfFullBuffer = (subject: string): void =>
    fullNotices.run((suppressed) =>
      logger.warn(
        { subject, suppressed },
        'NATS: dropped messages because the send buffer is full: the server reads too slowly',
      ),
    );

  return {
    get isConnected() {
      return isConnected();
    },
    publish(subject, message) {
      if (!isConnected()) return;
      if (!unconfirmed.hasRoomFor(message.length)) return warnOfFullBuffer(subject);
      try {
        // The driver keeps the bytes until the end of the turn, but the caller may reuse the
        // buffer.
        connection.publish(subject, message.slice());
        unconfirmed.add(message.length);
      } catch (error) {
        logger.warn({ subject, why: textOf(error) }, 'NATS: could not send a message');
      }
    },
    subscribe(subject, listener) {
      const subscription = connection.subscribe(subject, {
        callback(error, { data }) {
          if (error !== null) {
            logger.warn({ subject, why: textOf(error) }, 'NATS: could not subscribe to a subject');
            return;
          }
          // An error thrown into the driver would silently end its reading.
          try {
            listener(data);
          } catch (bug) {
            onBug(bug);
          }
        },
      });
      return { [Symbol.dispose]: () => subscription.unsubscribe() };
    },
    async [Symbol.asyncDispose]() {
      // Drain the connection: the server's answer confirms that it has received everything. A plain
      // close may lose the last messages.
      if (isConnected()) {
        await withinMs(clock, DRAIN_TIMEOUT_MS, connection.drain()).catch(() => undefined);
      }
      state.isConnected = false;
      await withinMs(clock, DRAIN_TIMEOUT_MS, connection.close()).catch(() => undefined);
    },
  };
}

/** Counts bytes that were published and that no answer of the server has confirmed yet. */
class UnconfirmedBytes {
  readonly #connection: NatsConnection;
  /** Bytes sent before the running flush. Undefined if no flush is running. */
  #asked: number | undefined;
  /** Bytes sent after the running flush began. */
  #later = 0;

  constructor(connection: NatsConnection) {
    this.#connection = connection;
  }

  hasRoomFor(bytes: number): boolean {
    return (this.#asked ?? 0) + this.#later + bytes <= UNCONFIRMED_BYTES_MAX;
  }

  add(bytes: number): void {
    this.#later += bytes;
    if (this.#asked === undefined) this.#ask();
  }

  #ask(): void {
    this.#asked = this.#later;
    this.#later = 0;
    // On a lost connection the flush rejects, and the bytes are dropped.
    const answered = (): void => {
      this.#asked = undefined;
      if (this.#later > 0) this.#ask();
    };
    this.#connection.flush().then(answered, answered);
  }
}

/** Updates `state` from the driver's status events until the connection is closed. */
async function follow(
  connection: NatsConnection,
  state: { isConnected: boolean },
  logger: Logger,
  dependency: Dependency,
): Promise<void> {
  for await (const status of connection.status()) {
    switch (status.type) {
      case 'staleConnection':
      case 'disconnect':
        if (state.isConnected) dependency.lost('the server is down or does not answer');
        state.isConnected = false;
        break;
      case 'reconnect':
        state.isConnected = true;
        dependency.answered();
        break;
      case 'error':
        logger.warn({ why: status.error.message }, 'NATS: the server refused the request');
        break;
      case 'close':
        state.isConnected = false;
        break;
      default:
    }
  }
}

/**
 * Retries until the deadline, to find a server that is just starting. The error names the
 * addresses.
 */
async function firstConnection(options: NatsBusOptions): Promise<NatsConnection> {
  const { servers, clock, connectTimeoutMs = CONNECT_TIMEOUT_MS } = options;
  const endMs = clock.monotonicMs() + connectTimeoutMs;
  for (;;) {
    const leftMs = Math.max(1, endMs - clock.monotonicMs());
    const connecting = connect(driverOptions(options, Math.min(DIAL_TIMEOUT_MS, leftMs)));
    try {
      const connection = await withinMs(clock, leftMs, connecting);
      // Restores the configured servers, because the driver permanently removes unreachable
      // servers.
      connection.setServers([...servers]);
      return connection;
    } catch (cause) {
      // Closes a connection that is established after its deadline.
      connecting.then((late) => late.close()).catch(() => undefined);
      if (clock.monotonicMs() + RECONNECT_WAIT_MS < endMs && !isRefusal(cause)) {
        // The timer of the clock does not keep an otherwise idle process alive. This timer does.
        await sleep(RECONNECT_WAIT_MS);
        continue;
      }
      const message = `no NATS server at ${servers.join(', ')}: ${textOf(cause)}`;
      throw new Fault('service_unavailable', message, { cause });
    }
  }
}

function driverOptions(options: NatsBusOptions, dialTimeoutMs: number): NodeConnectionOptions {
  const { credentials, tls } = options;
  return {
    ...(credentials === undefined ? {} : { authenticator: () => shownOf(credentials.current) }),
    // TLS from the first byte, because any server can send the plain-text greeting. Without TLS,
    // null is required: otherwise the driver would accept TLS that a server merely offers, under an
    // authority that is not configured.
    tls: tls === undefined ? null : tlsFromTheFirstByte(tls),
    // Servers that are not configured are never used.
    ignoreClusterUpdates: true,
    servers: [...options.servers],
    name: options.name,
    timeout: dialTimeoutMs,
    reconnect: true,
    maxReconnectAttempts: -1,
    reconnectDelayHandler: () => RECONNECT_WAIT_MS,
    // Keep reconnecting after an authentication error: credentials may be rotating.
    ignoreAuthErrorAbort: true,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: PINGS_UNANSWERED_MAX,
  };
}

function shownOf({ username, password }: UserAndPassword) {
  return { user: username, pass: password };
}

/**
 * Returns the original object, not a copy, because the driver must read later certificates from it.
 */
function tlsFromTheFirstByte(tls: Reloadable<ClientTls>): TlsOptions {
  return Object.assign(tlsOptionsOf(tls), { handshakeFirst: true }) as TlsOptions;
}

/** Whether the server rejected the credentials. A retry within seconds would then be pointless. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'AuthorizationError';
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
