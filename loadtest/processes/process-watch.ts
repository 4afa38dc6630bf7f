/** Ids of running processes, by name. */
export type Pids = ReadonlyMap<string, number>;

/**
 * Detects processes that ended between two calls of `look`. Other figures hide a restart: the new
 * process has its own memory figures, and readings during the restart are missing.
 */
export class ProcessWatch {
  readonly #killed = new Set<number>();
  readonly #ended: string[] = [];
  #last: Pids;

  constructor(first: Pids) {
    this.#last = first;
  }

  /** Marks a process as killed on purpose. */
  killed(pid: number): void {
    this.#killed.add(pid);
  }

  /** Compares the running processes with those of the previous call. */
  look(now: Pids): void {
    for (const [name, pid] of this.#last) {
      if (now.get(name) === pid || this.#killed.has(pid)) continue;
      this.#ended.push(`${name} (process ${pid})`);
    }
    this.#last = now;
  }

  /** Processes that ended unexpectedly, without duplicates. */
  get ended(): readonly string[] {
    return this.#ended;
  }
}
