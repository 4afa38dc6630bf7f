import { connect } from 'node:net';
import type { ProbeAim, Probed } from '#cluster/failure-evidence';
import { adminClient } from '#grpc/admin';
import type { WireTls } from '#grpc/tls';
import { type Clock, systemClock } from '#stdlib/clock';
import type { Reloadable } from '#stdlib/files';
import { readHostPort } from '#stdlib/network';

/** Options of a probe. */
type ProbeOptions = {
  /** Timeout for connecting and the answer together, in milliseconds. */
  readonly timeoutMs: number;
  readonly clock?: Clock;
  /** Plain text if undefined. */
  readonly tls?: Reloadable<WireTls> | undefined;
};

const SILENT: Probed = { kind: 'silent' };

/**
 * Checks over fresh connections whether a process listens at `address` (`host:port`) and, for the
 * aim `incarnation`, which incarnation. `refused` proves that the process has ended, because a
 * listener closes only with its process. Any unclear result is `silent`, which proves nothing.
 * Never throws. Source: architecture 3.3, first case.
 */
export async function probe(
  address: string,
  aim: ProbeAim,
  options: ProbeOptions,
): Promise<Probed> {
  const { timeoutMs, clock = systemClock, tls } = options;
  const endMs = clock.monotonicMs() + timeoutMs;
  const reached = await reach(address, timeoutMs, clock);
  if (reached !== 'connected') return { kind: reached };
  if (aim === 'listener') return { kind: 'listening' };
  const leftMs = endMs - clock.monotonicMs();
  if (leftMs <= 0) return SILENT;
  return await adminClient(address, { timeoutMs: leftMs, clock, tls })
    .identify()
    .then(
      (incarnation) => ({ kind: 'answered', incarnation }),
      () => SILENT,
    );
}

/** Result of a TCP connect. The kernel accepts connections even for a stopped process. */
function reach(
  address: string,
  timeoutMs: number,
  clock: Clock,
): Promise<'connected' | 'refused' | 'silent'> {
  const at = readHostPort(address);
  if (at === undefined || at.port === 0) return Promise.resolve('silent');
  return new Promise((resolve) => {
    const socket = connect(at);
    const end = (how: 'connected' | 'refused' | 'silent'): void => {
      timer[Symbol.dispose]();
      socket.destroy();
      resolve(how);
    };
    const timer = clock.after(timeoutMs, () => end('silent'));
    socket.on('connect', () => end('connected'));
    socket.on('error', (error) => end(isRefusal(error) ? 'refused' : 'silent'));
  });
}

/** A host name with several addresses is refused only if every address refuses. */
function isRefusal(error: Error): boolean {
  if (error instanceof AggregateError) return error.errors.every(isRefusal);
  return 'code' in error && error.code === 'ECONNREFUSED';
}
