/** Values by the number of their group, in each in the order in which they came; empty groups take no room. */
export class Groups<Value> {
  readonly #groups = new Map<number, Set<Value>>();

  /** Adds a value to a group. */
  add(group: number, value: Value): void {
    const values = this.#groups.get(group);
    if (values === undefined) this.#groups.set(group, new Set([value]));
    else values.add(value);
  }

  /** Takes a value out of a group, if it is there. */
  delete(group: number, value: Value): void {
    const values = this.#groups.get(group);
    values?.delete(value);
    if (values?.size === 0) this.#groups.delete(group);
  }

  /** The values of a group, as they are at each step of the iteration. */
  of(group: number): Iterable<Value> {
    return this.#groups.get(group) ?? [];
  }
}
