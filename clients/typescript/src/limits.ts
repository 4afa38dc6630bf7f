/** What is left of the account's limits after an answer (interface 8.2). */
export type Limits = {
  readonly requests: {
    /** Requests a minute that the plan allows; 0 where no caller is known. */
    readonly limit: number;
    /** Requests left in the present window, after this one. */
    readonly remaining: number;
    /** When the window ends; whole seconds. */
    readonly resetAt: Date;
  };
  /** Cycles left in the calendar month (UTC). */
  readonly monthlyRemaining: number;
};

/** The limits that an answer's headers name; undefined for an answer that did not come from the service. */
export function limitsOf(headers: Headers): Limits | undefined {
  const limit = numberIn(headers, 'x-ratelimit-limit');
  const remaining = numberIn(headers, 'x-ratelimit-remaining');
  const reset = numberIn(headers, 'x-ratelimit-reset');
  const monthlyRemaining = numberIn(headers, 'x-monthly-remaining');
  if (limit === undefined || remaining === undefined) return undefined;
  if (reset === undefined || monthlyRemaining === undefined) return undefined;
  return { requests: { limit, remaining, resetAt: new Date(reset * 1_000) }, monthlyRemaining };
}

/** How long `Retry-After` asks to wait, in milliseconds: whole seconds, or until an HTTP date. */
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
