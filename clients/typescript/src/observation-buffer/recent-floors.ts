/**
 * Floors of recently used instances: the earliest timestamp of the next observation. After an
 * eviction, the floor of an instance is unknown.
 */
export class RecentFloors {
  readonly #max: number;
  readonly #floors = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Stores a floor in Unix milliseconds. Evicts the oldest floors beyond the bound. */
  keep(instanceId: string, floorMs: number | undefined): void {
    this.#floors.delete(instanceId);
    if (floorMs === undefined) return;
    this.#floors.set(instanceId, floorMs);
    for (const oldest of this.#floors.keys()) {
      if (this.#floors.size <= this.#max) return;
      this.#floors.delete(oldest);
    }
  }

  /** Floor of an instance; undefined if unknown. */
  of(instanceId: string): number | undefined {
    return this.#floors.get(instanceId);
  }
}
