/** What a process waits for before it can serve, as its readiness probe answers. */
export class Waits {
  readonly #missing = new Set<() => string>();

  /** What `pending` becomes; until then it is waited for, and `missing` says what it is. */
  async during<Value>(missing: () => string, pending: Promise<Value>): Promise<Value> {
    // Another function for each wait: two may be for the same.
    const entry = () => missing();
    this.#missing.add(entry);
    try {
      return await pending;
    } finally {
      this.#missing.delete(entry);
    }
  }

  /** One line for each wait. */
  get lines(): readonly string[] {
    return [...this.#missing].map((missing) => `waiting for ${missing()}`);
  }
}
