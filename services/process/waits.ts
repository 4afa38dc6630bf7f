/** What a process waits for before it can serve, as its readiness probe answers. */
export class Waits {
  readonly #stop: AbortSignal | undefined;
  readonly #missing = new Set<() => string>();
  readonly #obstacles: (() => string | undefined)[] = [];

  /** Waits end when `stop` aborts; without it they last as long as they take. */
  constructor(stop?: AbortSignal) {
    this.#stop = stop;
  }

  /**
   * What `pending` becomes; until then it is waited for, and `missing` says what it is. Rejects when the
   * process is to stop.
   */
  async during<Value>(missing: () => string, pending: Promise<Value>): Promise<Value> {
    // Another function for each wait: two may be for the same.
    const entry = () => missing();
    this.#missing.add(entry);
    try {
      return await untilStopped(pending, this.#stop);
    } finally {
      this.#missing.delete(entry);
    }
  }

  /** Keeps the process from being ready whenever `obstacle` answers a line. */
  neverReadyWith(obstacle: () => string | undefined): void {
    this.#obstacles.push(obstacle);
  }

  /** Why the process cannot serve although it has started, one line each. */
  get obstacles(): readonly string[] {
    return this.#obstacles.flatMap((obstacle) => obstacle() ?? []);
  }

  /** One line for each wait. */
  get lines(): readonly string[] {
    return [...this.#missing].map((missing) => `waiting for ${missing()}`);
  }
}

async function untilStopped<Value>(
  pending: Promise<Value>,
  stop: AbortSignal | undefined,
): Promise<Value> {
  if (stop === undefined) return await pending;
  stop.throwIfAborted();
  const stopped = Promise.withResolvers<never>();
  const onAbort = () => stopped.reject(stop.reason);
  stop.addEventListener('abort', onAbort);
  try {
    return await Promise.race([pending, stopped.promise]);
  } finally {
    stop.removeEventListener('abort', onAbort);
  }
}
