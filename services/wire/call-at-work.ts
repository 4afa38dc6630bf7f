/** What a handler may know of a call besides its message. */
export interface CallContext {
  /** Aborts when the caller has given the call up; made on first use. */
  readonly signal: AbortSignal;
}

/** A call at a server whose answer is not there yet. Its times are monotonic milliseconds. */
export class CallAtWork implements CallContext {
  readonly id: number;
  readonly arrivedMs: number;
  readonly deadlineMs: number;
  #cancelled = false;
  #controller: AbortController | undefined;

  constructor(id: number, arrivedMs: number, deadlineMs: number) {
    this.id = id;
    this.arrivedMs = arrivedMs;
    this.deadlineMs = deadlineMs;
  }

  /** Whether its caller has given it up. */
  get isCancelled(): boolean {
    return this.#cancelled;
  }

  /** Made when it is first asked for: most calls need none. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#cancelled) this.#controller.abort();
    return this.#controller.signal;
  }

  /** Its caller gives it up. */
  cancel(): void {
    this.#cancelled = true;
    this.#controller?.abort();
  }
}
