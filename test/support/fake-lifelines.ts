import type { ConnectionEnd, Dialed } from '#cluster/lifelines';

/** Lifelines to addresses of invented processes, open until `end`. */
export class FakeLifelines {
  readonly #open = new Map<string, Set<(how: ConnectionEnd) => void>>();

  /** Result of a connection to a process, with an open lifeline. */
  identified(address: string, incarnation: string, isDirect = true): Dialed {
    const { promise, resolve } = Promise.withResolvers<ConnectionEnd>();
    const open = this.#open.get(address) ?? new Set();
    this.#open.set(address, open.add(resolve));
    const lifeline = {
      isDirect,
      ended: promise,
      [Symbol.dispose]: () => void open.delete(resolve),
    };
    return { kind: 'identified', incarnation, lifeline };
  }

  /** Number of open lifelines to an address. */
  countAt(address: string): number {
    return this.#open.get(address)?.size ?? 0;
  }

  /** Ends all lifelines to an address: by a FIN, or by a RST (`broken`). */
  end(address: string, how: ConnectionEnd = 'closed'): void {
    for (const resolve of this.#open.get(address) ?? []) resolve(how);
    this.#open.delete(address);
  }
}
