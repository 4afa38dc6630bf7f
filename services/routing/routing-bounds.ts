/** Every bound of routing with unit and reason. Full means a fault at once (architecture 3.7). */

/** First ceiling of the pause before another try, in milliseconds: a handoff takes tens. */
export const RETRY_PAUSE_MS_MIN = 20;

/** Largest ceiling of that pause, in milliseconds: a quarter of what a fail-over may take. */
export const RETRY_PAUSE_MS_MAX = 250;

/** First ceiling of it before a limiter is asked again, in milliseconds: at least 5 of its 100. */
export const LIMITER_PAUSE_MS_MIN = 10;

/** Largest ceiling of that pause, in milliseconds: a call of 100 ms has room for five. */
export const LIMITER_PAUSE_MS_MAX = 20;

/**
 * How long an admission may wait when a living limiter has said that it hands the meter over, or
 * that it ends, in milliseconds: three conditional writes, on a busy store. Source: decision 24.
 */
export const LIMITER_MOVING_MS_MAX = 1_000;

/**
 * The same as a multiple of an admission's time, where an operator grants that more than 100 ms: a
 * machine on which one step takes that long needs it for each of the three. Source: decision 24.
 */
export const LIMITER_MOVING_STEPS = 3;

/**
 * How long a settlement may look for its meter, in milliseconds: cycles that cannot be given back
 * are lost to their account.
 */
export const SETTLE_MS_MAX = 1_000;

/** Calls that pause before their next try, per process: as many as one connection has in flight. */
export const WAITING_CALLS_MAX = 4_096;

/** Connections to nodes of a service, per process: over twice a fleet of 100, room for moves. */
export const PEERS_MAX = 256;

/**
 * How long a connection may take before news of its node make another attempt, in milliseconds:
 * more than one takes on a machine whose cores are busy.
 */
export const CONNECT_AGAIN_MS = 500;

/**
 * How long a connection outlives its node's last shard, or waits for its first, in milliseconds:
 * three longest calls.
 */
export const PEER_IDLE_MS = 30_000;

/** How often connections without a shard are looked for, in milliseconds: a tenth of that age. */
export const PEER_SWEEP_MS = 3_000;

/** How long a process that starts waits for the owners of all shards: two heartbeats, and some. */
export const ROUTES_MS_MAX = 3_000;

/** How often it looks for them, in milliseconds. */
export const ROUTES_POLL_MS = 20;
