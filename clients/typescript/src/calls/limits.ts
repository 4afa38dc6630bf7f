/** Remaining account limits after an answer (interface 8.2). */
export type Limits = {
  readonly requests: {
    /** Requests per minute in the plan; 0 if the caller is unknown. */
    readonly limit: number;
    /** Requests left in the current window after this request. */
    readonly remaining: number;
    /** End of the window, in whole seconds. */
    readonly resetAt: Date;
  };
  /** Cycles left in the calendar month (UTC). */
  readonly monthlyRemaining: number;
};

/** Reads the limits from an answer's headers. Undefined if a header is missing or invalid. */
export function limitsOf(headers: Headers): Limits | undefined {
  const limit = numberIn(headers, 'x-ratelimit-limit');
  const remaining = numberIn(headers, 'x-ratelimit-remaining');
  const reset = numberIn(headers, 'x-ratelimit-reset');
  const monthlyRemaining = numberIn(headers, 'x-monthly-remaining');
  if (limit === undefined || remaining === undefined) return undefined;
  if (reset === undefined || monthlyRemaining === undefined) return undefined;
  return { requests: { limit, remaining, resetAt: new Date(reset * 1_000) }, monthlyRemaining };
}

/** Reads `Retry-After`, in seconds or as an HTTP date. Returns the delay in milliseconds. */
export function retryAfterMsOf(headers: Headers, nowMs: number): number | undefined {
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

function numberIn(headers: Headers, name: string): number | undefined {
  const text = headers.get(name);
  return text !== null && /^\d+$/.test(text) ? Number(text) : undefined;
}
