import { setTimeout as sleep } from 'node:timers/promises';
import {
  connect,
  type NatsConnection,
  type NodeConnectionOptions,
  type TlsOptions,
} from '@nats-io/transport-node';
import type { Bus } from '#bus/bus';
import { Fault } from '#fault/fault';
import { type ClientTls, tlsOptionsOf } from '#platform/certificates';
import { type Clock, withinMs } from '#platform/clock';
import { Dependency } from '#platform/dependency';
import type { Reloadable } from '#platform/files';
import { LogRateLimit } from '#platform/log-limits';
import type { Logger } from '#platform/logger';

type UserAndPassword = { readonly username: string; readonly password: string };

/** Where the servers are, and what the bus takes from outside. */
export type NatsBusOptions = {
  /** `nats://host:port`; any one of them will do. */
  readonly servers: readonly string[];
  /** How the server's own pages call this client. */
  readonly name: string;
  readonly clock: Clock;
  /** Shown whenever it connects; the connection there is lasts until the server ends it. */
  readonly credentials?: Reloadable<UserAndPassword> | undefined;
  /** With it nothing is said in plain text, and everything without. */
  readonly tls?: Reloadable<ClientTls> | undefined;
  /** How long the first connection may take, tries included. Default: `CONNECT_TIMEOUT_MS`. */
  readonly connectTimeoutMs?: number;
  /** Receives what a listener threw, a bug. The other listeners hear the message all the same. */
  readonly onBug: (error: unknown) => void;
  /** One line for the log about the connection: lost, back, refused by the server. */
  readonly logger: Logger;
  /** Reports when the connection is lost, and found again; one of its own unless given. */
  readonly dependency?: Dependency;
};

/** The first connection: long enough for a server that starts beside this process, in milliseconds. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Between two tries, in milliseconds, always: a returned server is found within half a heartbeat. */
const RECONNECT_WAIT_MS = 500;

/** One try to connect, in milliseconds. */
const DIAL_TIMEOUT_MS = 2_000;

/**
 * A server that is silent is asked for a sign of life so often, in milliseconds, and given up when
 * two are unanswered: within the 3 s after which others miss our heartbeats (architecture 3).
 */
const PING_INTERVAL_MS = 1_000;
const PINGS_UNANSWERED_MAX = 2;

/**
 * Bytes published since the server's last sign of life; more are dropped. The announcements of 256
 * shards fit, signed and with the longest epochs. A larger bound would do harm: bytes that the
 * kernel does not take keep the driver from leaving a frozen server for another.
 */
const UNCONFIRMED_BYTES_MAX = 128 * 1_024;

/** How long closing waits for the server to take what was published, in milliseconds. */
const DRAIN_TIMEOUT_MS = 1_000;

/**
 * The bus over NATS core subjects. Rejects with `service_unavailable` when no server can be reached
 * in time; later losses heal by themselves, for ever.
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
  const wantOfRoom = (subject: string): void =>
    fullNotices.run((suppressed) =>
      logger.warn(
        { subject, suppressed },
        'NATS: messages are dropped for want of room: the server is slow',
      ),
    );

  return {
    get isConnected() {
      return isConnected();
    },
    publish(subject, message) {
      if (!isConnected()) return;
      if (!unconfirmed.hasRoomFor(message.length)) return wantOfRoom(subject);
      try {
        // The driver keeps the bytes until the end of the turn, and they are still the caller's.
        connection.publish(subject, message.slice());
        unconfirmed.add(message.length);
      } catch (error) {
        logger.warn({ subject, why: textOf(error) }, 'NATS: a message was not sent');
      }
    },
    subscribe(subject, listener) {
      const subscription = connection.subscribe(subject, {
        callback(error, { data }) {
          if (error !== null) {
            logger.warn({ subject, why: textOf(error) }, 'NATS: a subject is not heard');
            return;
          }
          // An error that reached the driver would end its reading, without a word.
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
      // The server's answer says that it has taken everything; a bare close may cut off the end.
      if (isConnected()) {
        await withinMs(clock, DRAIN_TIMEOUT_MS, connection.drain()).catch(() => undefined);
      }
      state.isConnected = false;
      await withinMs(clock, DRAIN_TIMEOUT_MS, connection.close()).catch(() => undefined);
    },
  };
}

/** What was published and not yet followed by an answer of the server. */
class UnconfirmedBytes {
  readonly #connection: NatsConnection;
  /** Sent before the question under way; undefined when there is none. */
  #asked: number | undefined;
  /** Sent since. */
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
    // A lost connection answers too, by rejecting, and takes all bytes with it.
    const answered = (): void => {
      this.#asked = undefined;
      if (this.#later > 0) this.#ask();
    };
    this.#connection.flush().then(answered, answered);
  }
}

/** Keeps `state` as the driver reports it, until the connection is closed. */
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
        if (state.isConnected) dependency.lost('the server is away or silent');
        state.isConnected = false;
        break;
      case 'reconnect':
        state.isConnected = true;
        dependency.answered();
        break;
      case 'error':
        logger.warn({ why: status.error.message }, 'NATS: the server refuses');
        break;
      case 'close':
        state.isConnected = false;
        break;
      default:
    }
  }
}

/** Tries until the deadline: a server that is just starting is found, a wrong address is named. */
async function firstConnection(options: NatsBusOptions): Promise<NatsConnection> {
  const { servers, clock, connectTimeoutMs = CONNECT_TIMEOUT_MS } = options;
  const endMs = clock.monotonicMs() + connectTimeoutMs;
  for (;;) {
    const leftMs = Math.max(1, endMs - clock.monotonicMs());
    const connecting = connect(driverOptions(options, Math.min(DIAL_TIMEOUT_MS, leftMs)));
    try {
      const connection = await withinMs(clock, leftMs, connecting);
      // The driver has struck those off that were away, for good.
      connection.setServers([...servers]);
      return connection;
    } catch (cause) {
      // A connection that comes too late is closed.
      connecting.then((late) => late.close()).catch(() => undefined);
      if (clock.monotonicMs() + RECONNECT_WAIT_MS < endMs && !isRefusal(cause)) {
        // Not the clock's: a process that waits here has nothing else that keeps it alive.
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
    // Encrypted from the first byte: what a server says of itself in plain text, any server can
    // say. Null: nor is a server asked that only offers it, by an authority that is not configured.
    tls: tls === undefined ? null : tlsFromTheFirstByte(tls),
    // Nor are servers used that are not configured.
    ignoreClusterUpdates: true,
    servers: [...options.servers],
    name: options.name,
    timeout: dialTimeoutMs,
    reconnect: true,
    maxReconnectAttempts: -1,
    reconnectDelayHandler: () => RECONNECT_WAIT_MS,
    // A server whose users are being changed is no reason to stay away for good.
    ignoreAuthErrorAbort: true,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: PINGS_UNANSWERED_MAX,
  };
}

function shownOf({ username, password }: UserAndPassword) {
  return { user: username, pass: password };
}

/** Not a copy: the driver must find later what counts then. */
function tlsFromTheFirstByte(tls: Reloadable<ClientTls>): TlsOptions {
  return Object.assign(tlsOptionsOf(tls), { handshakeFirst: true }) as TlsOptions;
}

/** Whether the server was there and said no: trying again within seconds changes nothing. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'AuthorizationError';
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
