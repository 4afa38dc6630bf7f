/** Every bound of the shard controller: its value, unit and reason. */

/** How often the table is compared with the ring (architecture 3.4). */
export const LOOK_PERIOD_MS = 1_000;

/** How long views must agree before a shard moves on purpose (architecture 3.4). */
export const AGREED_VIEW_MS = 3_000;

/** The cool-down of a shard after a move on purpose (architecture 3.4). */
export const MOVE_COOLDOWN_MS = 30_000;

/** Shards that a node gives up at once (architecture 3.4). */
export const MOVES_IN_FLIGHT_MAX = 8;

/**
 * Over how long a node that leaves spreads its handoffs, in milliseconds: at once, every actor is
 * stored here and read there in the same second, and on a busy machine callers of all wait for all.
 * A quarter of what leaving may take.
 */
export const LEAVE_SPREAD_MS = 2_500;

/** Claims in flight at once: conditional writes, and each keeps a shard waiting. Chosen. */
export const CLAIMS_IN_FLIGHT_MAX = 16;

/**
 * How long a node that has just started listens when every owner is heard or sealed, and as
 * many nodes are present. Longer than an examination of a failed owner. Chosen.
 */
export const OUTAGE_GRACE_MS = 300;

/** Pause before a handoff's change is tried again. Chosen. */
export const HANDOFF_RETRY_MS = 200;

/** How often watchers examine an owner: a quarter of the second that fail-over has. Chosen. */
export const WATCH_PERIOD_MS = 250;

/**
 * How long after its last heartbeat (one a second) a node whose address accepts connections is not
 * asked who it is: asking costs several times what connecting does.
 */
export const HEARD_MS = 1_250;

/** Nodes that watch a node: those after it on the ring (architecture 3.3). */
export const WATCHERS = 3;

/** Two refusals this far apart prove that a process is dead (architecture 3.3). */
export const REFUSAL_GAP_MS = 50;

/** Silence on the bus after which every node examines an owner. Chosen. */
export const SUSPECT_MS = 1_500;

/** How long a suspicion has an owner examined: two reads of its journal (architecture 3.3). */
export const SUSPECTED_MS = 3_000;

/** A journal whose `next` has not moved for this time may be sealed (architecture 3.3). */
export const STALLED_MS = 5_000;

/** How often a journal's `next` is read (architecture 3.3). */
export const PROGRESS_PERIOD_MS = 1_000;

/** Own appends and reads slower than this prove nothing about others (architecture 3.3). */
export const SLOW_MS = 1_000;

/** Between two seals of stalled journals by one node (architecture 3.3). */
export const STALLED_SEAL_PAUSE_MS = 10_000;

/** Silence on the bus, with no way to connect, of an unreachable owner (architecture 3.3). */
export const UNREACHABLE_MS = 15_000;

/** Wait after a seal without proof of death: the read lease and a margin (architecture 3.3). */
export const OPEN_AFTER_SEAL_MS = 2_500;
