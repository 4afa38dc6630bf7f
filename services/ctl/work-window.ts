/** Does a few things at once; the first that fails is what the next call rejects with. */
export class WorkWindow {
  readonly #inFlightMax: number;
  readonly #running = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(inFlightMax: number) {
    this.#inFlightMax = inFlightMax;
  }

  /** Begins work when there is room for it; fulfils when it has begun. */
  async add(work: () => Promise<void>): Promise<void> {
    while (this.#running.size >= this.#inFlightMax) await Promise.race(this.#running);
    this.#assertWhole();
    const running: Promise<void> = work()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Fulfils when all work has been done. */
  async end(): Promise<void> {
    await Promise.all(this.#running);
    this.#assertWhole();
  }

  #assertWhole(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
