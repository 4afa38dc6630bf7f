/** Half of a pair of UTF-16, which UTF-8 cannot say: the service refuses it in every text (`invalid_text`). */
export const LONE_SURROGATE = /\p{Surrogate}/u;
