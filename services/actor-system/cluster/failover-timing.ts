/* Bounds of the shard controller and the failure detector: values, units and reasons. */
import type { ShardedService } from '#storage/ports/cluster';

/** Period of comparing the shard table with the ring, in milliseconds (architecture 3.4). */
export const LOOK_PERIOD_MS = 1_000;

/**
 * Time that the views of two nodes must agree before rebalancing moves a shard, in milliseconds
 * (architecture 3.4).
 */
export const AGREED_VIEW_MS = 3_000;

/** Cool-down of a shard after rebalancing moved the shard, in milliseconds (architecture 3.4). */
export const MOVE_COOLDOWN_MS = 30_000;

/** Maximum number of shards that a node hands off concurrently (architecture 3.4). */
export const MOVES_IN_FLIGHT_MAX = 8;

/**
 * Time over which a leaving node spreads its handoffs, in milliseconds. Simultaneous handoffs would
 * store and reload every actor in the same second, and callers on a busy machine would wait for all
 * of them. The value is a quarter of the time allowed for leaving.
 */
export const LEAVE_SPREAD_MS = 2_500;

/**
 * Maximum number of concurrent claims. A claim is a conditional write, and its shard is unavailable
 * until the claim ends.
 */
export const CLAIMS_IN_FLIGHT_MAX = 16;

/**
 * Minimum listening time of a node that has just started, in milliseconds. After this time the node
 * may claim shards if every owner is heard or sealed and there are at least as many present nodes
 * as owners. Longer than the examination of a failed owner.
 */
export const OUTAGE_GRACE_MS = 300;

/**
 * Period of asking whether the shards of a sealed owner may be opened, in milliseconds. Short,
 * because a proof of death may end the wait.
 */
export const OPEN_POLL_MS = 50;

/** Pause before the ownership change of a handoff is retried, in milliseconds. */
export const HANDOFF_RETRY_MS = 200;

/**
 * Period at which watchers examine an owner, in milliseconds. A quarter of the second in which a
 * fail-over must finish.
 */
export const WATCH_PERIOD_MS = 250;

/**
 * Time after a node's last heartbeat during which its open lifeline is enough, in milliseconds.
 * Nodes send one heartbeat a second. Later, each probe makes a connection.
 */
export const HEARD_MS = 1_250;

/** Number of nodes that watch a node: the next nodes on the ring (architecture 3.3). */
export const WATCHERS = 3;

/** Silence on the bus after which every node examines an owner, in milliseconds. */
export const SUSPECT_MS = 1_500;

/**
 * Time for which a suspicion makes every node examine an owner, in milliseconds. Long enough for
 * two reads of the owner's journal (architecture 3.3).
 */
export const SUSPECTED_MS = 3_000;

/**
 * Time without a change of a journal's `next` after which watchers may seal the journal, in
 * milliseconds (architecture 3.3). Longer than the pause until an idle node appends
 * (`JOURNAL_BEAT_MS`), and one append without an answer (2 s) with its repetition. Shorter for
 * limiters: a wrong seal costs a limiter little, because a meter has no history to recover.
 */
export const STALLED_MS: Readonly<Record<ShardedService, number>> = {
  engine: 5_000,
  limiter: 3_000,
};

/**
 * Period of reading a journal's `next`, in milliseconds (architecture 3.3). A cluster has few
 * limiters, so these reads may be more frequent.
 */
export const PROGRESS_PERIOD_MS: Readonly<Record<ShardedService, number>> = {
  engine: 1_000,
  limiter: 500,
};

/**
 * Duration of this process's own append or read, in milliseconds, from which the process is treated
 * as slow. A slow process has no evidence against other nodes (architecture 3.3).
 */
export const SLOW_MS = 1_000;

/**
 * Minimum pause between two seals of stalled journals by one node, in milliseconds
 * (architecture 3.3).
 */
export const STALLED_SEAL_PAUSE_MS = 10_000;

/**
 * Silence on the bus after which an owner whose address cannot be reached is sealed, in
 * milliseconds (architecture 3.3).
 */
export const UNREACHABLE_MS = 15_000;

/**
 * Wait between a seal without proof of death and the opening of the owner's shards, in
 * milliseconds (architecture 3.3). Engines: the read lease plus a margin, because the old owner may
 * still answer reads. Limiters: none, because the new owner counts everything as used that the old
 * owner may still grant.
 */
export const OPEN_AFTER_SEAL_MS: Readonly<Record<ShardedService, number>> = {
  engine: 2_500,
  limiter: 0,
};
