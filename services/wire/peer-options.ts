import type { FaultCode } from '#fault/error-codes';
import { type Clock, systemClock } from '#platform/clock';
import type { Dependency } from '#platform/dependency';
import type { Reloadable } from '#platform/reloadable';
import type { Tracer } from '#platform/tracer';
import {
  CLIENT_CALLS_IN_FLIGHT_MAX,
  KEEPALIVE_TIME_MS,
  KEEPALIVE_TIMEOUT_MS,
} from '#wire/wire-bounds';
import type { WireRole } from '#wire/wire-roles';
import { clientCredentials, type WireTls } from '#wire/wire-tls';

/** Where a peer is, and what speaking to it takes from outside. */
export type PeerOptions = {
  /** `host:port`. */
  readonly address: string;
  readonly clock?: Clock;
  /** Uniform in [0, 1), for the jitter of reconnects. */
  readonly random?: () => number;
  /** How long an answer may take, in milliseconds; as the service's protocol says unless given. */
  readonly timeoutMs?: number;
  /** Calls without an answer; beyond it they are refused as `overloaded`. */
  readonly callsInFlightMax?: number;
  /** Absent: plain text. */
  readonly tls?: Reloadable<WireTls> | undefined;
  /** Silence after which the peer is pinged, and how long it may take to answer, in milliseconds. */
  readonly keepalive?: { readonly timeMs: number; readonly timeoutMs: number };
  /**
   * Hears of every call's end, with its duration in seconds and its span. On the hot path: must be
   * cheap.
   */
  readonly observeCall?: CallEnded;
  /** Reports outages of the peer. Disposed with the connection. */
  readonly dependency?: Dependency | undefined;
  readonly tracer?: Tracer | undefined;
};

/** Hears that a call has ended; `traceparent` is of its span, or absent. */
export type CallEnded = (
  seconds: number,
  outcome: 'ok' | FaultCode,
  traceparent?: string | undefined,
) => void;

/** The same with everything filled in, for a peer that speaks this protocol. */
export function peerDefaults(
  options: PeerOptions,
  { role, timeoutMs, exchangePath }: { role: WireRole; timeoutMs: number; exchangePath: string },
) {
  return {
    address: options.address,
    path: exchangePath,
    timeoutMs: options.timeoutMs ?? timeoutMs,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    callsInFlightMax: options.callsInFlightMax ?? CLIENT_CALLS_IN_FLIGHT_MAX,
    newCredentials: () => clientCredentials(options.tls, [role]),
    keepalive: options.keepalive ?? { timeMs: KEEPALIVE_TIME_MS, timeoutMs: KEEPALIVE_TIMEOUT_MS },
    observeCall: options.observeCall,
    dependency: options.dependency,
    tracer: options.tracer,
  };
}
