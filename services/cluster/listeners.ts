/** Functions that are called when something happens, until they are disposed. */
export class Listeners<Arguments extends readonly unknown[]> {
  readonly #listeners = new Set<(...args: Arguments) => void>();

  /** Adds a listener until disposed. */
  add(listener: (...args: Arguments) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Calls every listener, in the order in which they were added. */
  notify(...args: Arguments): void {
    for (const listener of this.#listeners) listener(...args);
  }

  /** Drops every listener. */
  clear(): void {
    this.#listeners.clear();
  }
}
