/**
 * The earliest timestamps that instances take next, for the instances that were sent to most recently; the
 * service is asked for those that were forgotten, by sending.
 */
export class RecentFloors {
  readonly #max: number;
  readonly #floors = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Keeps one, in Unix milliseconds, and forgets the oldest beyond the bound. */
  keep(instanceId: string, floorMs: number | undefined): void {
    this.#floors.delete(instanceId);
    if (floorMs === undefined) return;
    this.#floors.set(instanceId, floorMs);
    for (const oldest of this.#floors.keys()) {
      if (this.#floors.size <= this.#max) return;
      this.#floors.delete(oldest);
    }
  }

  /** The one of an instance, if it is known. */
  of(instanceId: string): number | undefined {
    return this.#floors.get(instanceId);
  }
}
