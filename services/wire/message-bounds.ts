/** Longest id, digest or ETag, in UTF-16 units; an idempotency key may have 255 (decision 22). */
export const TOKEN_LENGTH_MAX = 255;

/** Call ids and tags are below 2^52. Source: engine-messages, limiter-messages. */
export const CALL_ID_MAX = 2 ** 52 - 1;

/** Cycles of one call. Source: decision 10. */
export const CYCLES_MAX = 100;

/** Fields of fixed size, tags and ids of one message, in bytes, rounded up. */
export const MESSAGE_BYTES = 4_096;
