/** The ids of the processes that run at a moment, by name. */
export type Pids = ReadonlyMap<string, number>;

/**
 * Which processes have ended between the looks at them. What has ended and was started again shows in
 * no figure of a run: its memory is another one's, and its readings are not there.
 */
export class ProcessWatch {
  readonly #killed = new Set<number>();
  readonly #ended: string[] = [];
  #last: Pids;

  constructor(first: Pids) {
    this.#last = first;
  }

  /** The process with this id is ended on purpose. */
  killed(pid: number): void {
    this.#killed.add(pid);
  }

  /** Takes what runs now. */
  look(now: Pids): void {
    for (const [name, pid] of this.#last) {
      if (now.get(name) === pid || this.#killed.has(pid)) continue;
      this.#ended.push(`${name} (process ${pid})`);
    }
    this.#last = now;
  }

  /** Those that have ended and not on purpose, each once. */
  get ended(): readonly string[] {
    return this.#ended;
  }
}
