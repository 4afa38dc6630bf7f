import type { Clock } from '#stdlib/clock';
import { randomnessOf, type SeededRandom } from '#test/simulation/seeded-random';
import type { World } from '#test/simulation/world';

/** Interval between events that were delayed by a pause, in milliseconds. */
const WAKING_STEP_MS = 0.01;

/** Shortest duration of a Node.js timer, in milliseconds. */
const TIMER_MS_MIN = 1;

/** Maximum delay of a timer on a quiet machine, in milliseconds. */
const TIMER_LATE_MS_MAX = 0.3;

/**
 * A simulated operating-system process. All external events (timers, answers, messages, calls)
 * arrive through `deliver`. A dead process receives no events; a paused process receives them after
 * the resume. Messages that a process sent before its end are delivered.
 */
export class SimulatedProcess {
  readonly name: string;
  readonly world: World;
  readonly random: SeededRandom;
  #condition: 'running' | 'paused' | 'dead' = 'running';
  #waiting: (() => void)[] = [];
  readonly #onDeath = new Set<() => void>();
  /** Skew of the wall clock against true time. */
  #skewMs: number;
  /** Time while the machine was suspended, which the monotonic clock does not count. */
  #suspendedMs = 0;
  #suspendedAtMs: number | undefined;

  constructor(world: World, name: string, skewMs = 0) {
    this.world = world;
    this.name = name;
    this.random = world.random.fork();
    this.#skewMs = skewMs;
  }

  get isDead(): boolean {
    return this.#condition === 'dead';
  }

  get isPaused(): boolean {
    return this.#condition === 'paused';
  }

  /** Clock of this process. The wall clock may be wrong and may step, but its rate is exact. */
  readonly clock: Clock = {
    wallMs: () => Math.floor(this.world.wallMs() + this.#skewMs),
    monotonicMs: () => (this.#suspendedAtMs ?? this.world.nowMs) - this.#suspendedMs,
    after: (delayMs, task) => this.#timer(delayMs, task),
  };

  /** Randomness port of this process. */
  get randomness() {
    return randomnessOf(this.random);
  }

  /** Delivers an event. A paused process receives the event after the resume, a dead one never. */
  deliver(task: () => void): void {
    if (this.#condition === 'running') task();
    else if (this.#condition === 'paused') this.#waiting.push(task);
  }

  /** Runs `task` in this process after `delayMs` of true time. */
  later(delayMs: number, task: () => void): Disposable {
    return this.world.after(delayMs, () => this.deliver(task));
  }

  /** Registers a listener for the end of the process. */
  onDeath(listener: () => void): Disposable {
    this.#onDeath.add(listener);
    return { [Symbol.dispose]: () => void this.#onDeath.delete(listener) };
  }

  /** SIGKILL or a clean exit. Later events are dropped. */
  end(): void {
    if (this.#condition === 'dead') return;
    this.#condition = 'dead';
    this.#waiting = [];
    const listeners = [...this.#onDeath];
    this.#onDeath.clear();
    for (const listener of listeners) listener();
  }

  /** SIGSTOP. `suspend` suspends the machine, which also stops the monotonic clock. */
  pause(kind: 'stop' | 'suspend'): void {
    if (this.#condition !== 'running') return;
    this.#condition = 'paused';
    if (kind === 'suspend') this.#suspendedAtMs = this.world.nowMs;
  }

  /** SIGCONT: delivers all waiting events in order. */
  resume(): void {
    if (this.#condition !== 'paused') return;
    if (this.#suspendedAtMs !== undefined) {
      this.#suspendedMs += this.world.nowMs - this.#suspendedAtMs;
      this.#suspendedAtMs = undefined;
    }
    this.#condition = 'running';
    const dueTasks = this.#waiting;
    this.#waiting = [];
    for (const [index, task] of dueTasks.entries()) this.later(index * WAKING_STEP_MS, task);
  }

  /** Steps the wall clock, like an operator or NTP does. */
  stepWall(deltaMs: number): void {
    this.#skewMs += deltaMs;
  }

  #timer(delayMs: number, task: () => void): Disposable {
    let isDisposed = false;
    const lateMs = this.random.between(0, TIMER_LATE_MS_MAX);
    const timer = this.later(Math.max(TIMER_MS_MIN, delayMs) + lateMs, () => {
      if (!isDisposed) task();
    });
    return {
      [Symbol.dispose]: () => {
        isDisposed = true;
        timer[Symbol.dispose]();
      },
    };
  }
}
