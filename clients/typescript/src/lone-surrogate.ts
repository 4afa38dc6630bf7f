/**
 * Matches half of a UTF-16 surrogate pair, which UTF-8 cannot encode. The service refuses such text
 * (`invalid_text`).
 */
export const LONE_SURROGATE = /\p{Surrogate}/u;
