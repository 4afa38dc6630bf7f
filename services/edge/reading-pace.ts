/** The least that a connection must take while an answer waits, in bytes a second. */
const TAKEN_PER_SECOND_MIN = 16 * 1_024;

/** Over how long that is measured, in milliseconds: a network that stops for a moment is none. */
const MEASURED_MS = 10_000;

/**
 * How long a large step may last at that rate, in milliseconds: a third of the 4 MiB that Linux
 * lets a connection's send buffer have.
 */
const STEP_MS_MAX = 90_000;

/**
 * How long the first step may be waited for, in milliseconds: the same third at 40 KiB a second. It
 * is less, because what the kernel took before says nothing of the reader.
 */
const FIRST_STEP_MS_MAX = 40_000;

/** Linux takes more when such a part of a connection's send buffer is free. */
const FREED_PART = 1 / 3;

/** How far apart looks are that are kept, in milliseconds: many connections make very many. */
const APART_MS_MIN = 500;

type Look = { readonly atMs: number; readonly taken: number };

/**
 * How fast a connection takes an answer that waits for it. All that is seen is what the kernel
 * takes, and of an even reader it takes nothing for a while and then a step of up to a third of its
 * buffer. So a connection is slow when it has taken too little in 10 s, and the next step is
 * overdue as well: the last one may last for as long as its bytes do at the least rate. The first
 * may take as long as the kernel's buffer allows, which holds no more than it ever took. Source:
 * decision 161.
 */
export class ReadingPace {
  /** Of the last ten seconds, and the newest before them. */
  readonly #looks: [Look, ...Look[]];
  #taken: number;
  #takenMs: number;
  /** Until when the next step is not overdue. */
  #dueMs: number;

  /** Begins when an answer waits, on a connection of which `taken` bytes have been taken before. */
  constructor(nowMs: number, taken: number) {
    this.#looks = [{ atMs: nowMs, taken }];
    this.#taken = taken;
    this.#takenMs = nowMs;
    this.#dueMs = nowMs + Math.min(msOf(taken * FREED_PART), FIRST_STEP_MS_MAX);
  }

  /** When something was taken last, in milliseconds; at first when the answer began to wait. */
  get takenMs(): number {
    return this.#takenMs;
  }

  /** Looks again: `taken` bytes of all answers on the connection have been taken by now. */
  look(nowMs: number, taken: number): void {
    const last = this.#looks.at(-1) ?? this.#looks[0];
    if (taken > this.#taken) {
      this.#taken = taken;
      this.#takenMs = nowMs;
      // From the last look on: it may have been taken right after it.
      const stepMs = Math.min(msOf(taken - last.taken), STEP_MS_MAX);
      this.#dueMs = Math.max(this.#dueMs, last.atMs + stepMs);
    }
    if (nowMs - last.atMs < APART_MS_MIN) return;
    this.#looks.push({ atMs: nowMs, taken });
    // The newest that is old enough is compared with, and those before it are forgotten.
    while (nowMs - (this.#looks[1]?.atMs ?? nowMs) >= MEASURED_MS) this.#looks.shift();
  }

  /** Whether too little has been taken, as of the last look. */
  isSlow(nowMs: number): boolean {
    const [first] = this.#looks;
    const elapsedMs = nowMs - first.atMs;
    if (elapsedMs < MEASURED_MS || nowMs < this.#dueMs) return false;
    return msOf(this.#taken - first.taken) < elapsedMs;
  }
}

/** For how long bytes last at the least rate, in milliseconds. */
function msOf(bytes: number): number {
  return (bytes * 1_000) / TAKEN_PER_SECOND_MIN;
}
