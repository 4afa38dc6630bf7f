/** Process ids at one time, by name. */
export type Pids = ReadonlyMap<string, number>;

/**
 * Detects processes that ended between two looks. No figure of a run shows a restart: the new
 * process has other memory, and its readings are missing.
 */
export class ProcessWatch {
  readonly #killed = new Set<number>();
  readonly #ended: string[] = [];
  #last: Pids;

  constructor(first: Pids) {
    this.#last = first;
  }

  /** Marks the process as killed on purpose. */
  killed(pid: number): void {
    this.#killed.add(pid);
  }

  /** Compares the running processes with the last look. */
  look(now: Pids): void {
    for (const [name, pid] of this.#last) {
      if (now.get(name) === pid || this.#killed.has(pid)) continue;
      this.#ended.push(`${name} (process ${pid})`);
    }
    this.#last = now;
  }

  /** Processes that ended unexpectedly, each once. */
  get ended(): readonly string[] {
    return this.#ended;
  }
}
