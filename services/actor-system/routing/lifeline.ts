import { once } from 'node:events';
import { connect } from 'node:net';
import type { ConnectionEnd, Dialed, Lifeline } from '#cluster/lifelines';
import { type IdentifiedConnection, identify } from '#grpc/admin';
import type { WireTls } from '#grpc/tls';
import { type Clock, systemClock } from '#stdlib/clock';
import type { Reloadable } from '#stdlib/files';
import { addressText, readAddress, readHostPort } from '#stdlib/network';

/** Options of a connection. */
type DialOptions = {
  /** Timeout for connecting and the answer together, in milliseconds. */
  readonly timeoutMs: number;
  readonly clock?: Clock;
  /** Plain text if undefined. */
  readonly tls?: Reloadable<WireTls> | undefined;
};

const SILENT: Dialed = { kind: 'silent' };

/**
 * Connects to `address` (`host:port`), asks for the incarnation there, and returns the open
 * connection as a lifeline. Never throws. Source: architecture 3.3, first case.
 */
export async function dial(address: string, options: DialOptions): Promise<Dialed> {
  const { timeoutMs, clock = systemClock, tls } = options;
  const endMs = clock.monotonicMs() + timeoutMs;
  const reached = await reach(address, timeoutMs, clock);
  if (reached !== 'connected') return { kind: reached };
  const leftMs = endMs - clock.monotonicMs();
  if (leftMs <= 0) return SILENT;
  const answer = await identify(address, { timeoutMs: leftMs, clock, tls }).catch(() => undefined);
  if (answer === undefined) return clock.monotonicMs() < endMs ? { kind: 'broken' } : SILENT;
  return { kind: 'identified', incarnation: answer.incarnation, lifeline: lifelineOn(answer) };
}

function lifelineOn({ socket, caller, isOpen, close }: IdentifiedConnection): Lifeline {
  const { promise, resolve } = Promise.withResolvers<ConnectionEnd>();
  // A live peer that closes the connection, and a keepalive of this side, announce the end first.
  socket.once('end', () => resolve(isOpen() ? 'closed' : 'broken'));
  socket.once('close', () => resolve('broken'));
  if (socket.destroyed) resolve('broken');
  void promise.then(close);
  // A proxy or NAT of this side would show the node another address or port.
  const own = `${socket.localAddress}:${socket.localPort}`;
  return { isDirect: isSameEnd(caller, own), ended: promise, [Symbol.dispose]: close };
}

/** Whether two texts of an address and a port are equal; `::ffff:10.0.0.7` equals `10.0.0.7`. */
function isSameEnd(one: string, other: string): boolean {
  const [first, second] = [one, other].map((end) => {
    const colon = end.lastIndexOf(':');
    const address = readAddress(end.slice(0, colon));
    return address && `${addressText(address)} ${end.slice(colon + 1)}`;
  });
  return first !== undefined && first === second;
}

/** Result of a TCP connect. The kernel accepts connections even for a stopped process. */
async function reach(
  address: string,
  timeoutMs: number,
  clock: Clock,
): Promise<'connected' | 'refused' | 'broken' | 'silent'> {
  const at = readHostPort(address);
  if (at === undefined || at.port === 0) return 'silent';
  const socket = connect(at);
  using _ = clock.after(timeoutMs, () => socket.destroy(new Error('no answer in time')));
  return await once(socket, 'connect')
    .then(() => 'connected' as const, reasonOf)
    .finally(() => socket.destroy());
}

/** A host name with several addresses is refused only if every address refuses. */
function reasonOf(error: Error): 'refused' | 'broken' | 'silent' {
  if (error instanceof AggregateError) {
    return error.errors.every((each) => reasonOf(each) === 'refused') ? 'refused' : 'silent';
  }
  switch ('code' in error && error.code) {
    case 'ECONNREFUSED':
      return 'refused';
    // The listener of an ending process resets the connections that it has not accepted.
    case 'ECONNRESET':
      return 'broken';
    default:
      return 'silent';
  }
}
