import type { Clock } from '#stdlib/clock';

/** A clock that advances on demand. Tasks run in time order. */
export class ManualClock implements Clock {
  #wallMs: number;
  #monotonicMs = 0;
  #tasks: { atMs: number; task: () => void }[] = [];

  constructor(wallMs = Date.UTC(2026, 0, 15, 12)) {
    this.#wallMs = wallMs;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  after(delayMs: number, task: () => void): Disposable {
    const entry = { atMs: this.#monotonicMs + delayMs, task };
    this.#tasks.push(entry);
    return {
      [Symbol.dispose]: () => {
        this.#tasks = this.#tasks.filter((other) => other !== entry);
      },
    };
  }

  /** Steps only the wall clock, like an operator or NTP. */
  stepWall(deltaMs: number): void {
    this.#wallMs += deltaMs;
  }

  /** Advances both clocks and runs all due tasks. */
  advance(deltaMs: number): void {
    const endMs = this.#monotonicMs + deltaMs;
    for (let due = this.#nextDue(endMs); due !== undefined; due = this.#nextDue(endMs)) {
      this.#moveTo(due.atMs);
      this.#tasks = this.#tasks.filter((other) => other !== due);
      due.task();
    }
    this.#moveTo(endMs);
  }

  #nextDue(endMs: number): { atMs: number; task: () => void } | undefined {
    return this.#tasks
      .filter(({ atMs }) => atMs <= endMs)
      .sort((a, b) => a.atMs - b.atMs)
      .at(0);
  }

  #moveTo(monotonicMs: number): void {
    this.#wallMs += monotonicMs - this.#monotonicMs;
    this.#monotonicMs = monotonicMs;
  }
}
