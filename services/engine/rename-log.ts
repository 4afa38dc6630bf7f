/** Renames of one account that are remembered: a walk by name outlasts no more. Chosen. */
const RENAMES_MAX = 4_096;

/** Bytes of one rename in memory, by estimate. */
const RENAME_BYTES = 200;

type Rename = { readonly instanceId: string; readonly nameBefore: string };

/**
 * The newest renames of an account's instances, so that a walk sorted by name can keep the order that
 * it began with: a row that is renamed meanwhile stays at its old place (decision 281).
 */
export class RenameLog {
  /** Names this log among those of earlier and later owners of the directory. */
  readonly epoch: number;
  readonly #renames: Rename[] = [];
  #dropped = 0;

  constructor(epoch: number) {
    this.epoch = epoch;
  }

  /** How many renames there were. */
  get count(): number {
    return this.#dropped + this.#renames.length;
  }

  /** Roughly the bytes held. */
  get bytes(): number {
    return RENAME_BYTES * this.#renames.length;
  }

  /** Remembers a rename. */
  add(instanceId: string, nameBefore: string): void {
    this.#renames.push({ instanceId, nameBefore });
    if (this.#renames.length <= 2 * RENAMES_MAX) return;
    this.#dropped += RENAMES_MAX;
    this.#renames.splice(0, RENAMES_MAX);
  }

  /**
   * The names that instances renamed since had when `count` renames had been seen; undefined if that is
   * no longer known.
   */
  namesAt(count: number): ReadonlyMap<string, string> | undefined {
    if (count < this.#dropped || count > this.count) return undefined;
    const names = new Map<string, string>();
    for (const { instanceId, nameBefore } of this.#renames.slice(count - this.#dropped)) {
      if (!names.has(instanceId)) names.set(instanceId, nameBefore);
    }
    return names;
  }
}
