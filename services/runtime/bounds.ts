/** Every bound of the runtime: its value, unit and reason. Full means `503` at once (architecture 3.7). */

/** Calls waiting for one actor. At 20 µs a turn a full mailbox is 20 ms of work. */
export const MAILBOX_CALLS_MAX = 1_024;

/** How long an actor remembers the ids of committed calls. Twice the longest call (architecture 3.5). */
export const RECENT_CALLS_AGE_MS = 20_000;

/** Ids an actor remembers: 200 calls a second on one instance for 20 s (architecture 3.5). */
export const RECENT_CALLS_MAX = 4_096;

/** A dirty actor is checkpointed at this age: late, so that rows gather (architecture 3.2). */
export const CHECKPOINT_AGE_MS = 20_000;

/** Checkpoint writes in flight per process; more would delay appends (architecture 3.2). */
export const CHECKPOINTS_IN_FLIGHT_MAX = 8;

/** How long checkpoints may keep the event loop when the store answers at once, in milliseconds. */
export const CHECKPOINT_SLICE_MS = 2;

/** Records durable in the journal but not yet checkpointed, per process (architecture 3.2). */
export const UNFLUSHED_RECORDS_MAX = 200_000;

/** Bytes of rows in the same state, estimated, per process (architecture 3.2). */
export const UNFLUSHED_BYTES_MAX = 64 * 1_024 * 1_024;

/** How often idle and dirty actors are looked for. A tenth of the shortest age that matters. */
export const SWEEP_PERIOD_MS = 1_000;

/** Activations looked at in one sweep: 50 µs of work, so that no call waits for it. */
export const SWEEP_ACTORS_MAX = 2_000;
