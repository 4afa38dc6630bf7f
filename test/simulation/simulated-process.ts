import type { Clock } from '#stdlib/clock';
import { randomnessOf, type SeededRandom } from '#test/simulation/seeded-random';
import type { World } from '#test/simulation/world';

/** Time between two late things that a woken process gets to see, in milliseconds. */
const WAKING_STEP_MS = 0.01;

/** The shortest timer that Node makes, and how late a timer may be on a quiet machine. */
const TIMER_MS_MIN = 1;
const TIMER_LATE_MS_MAX = 0.3;

/**
 * One operating-system process of the world. Everything that comes to it from outside (timers,
 * answers, messages, calls) comes through `deliver`: nothing reaches a dead one, and what reaches a
 * paused one waits until it is resumed. So a killed process is one to which nothing happens any
 * more; what it sent before stays sent.
 */
export class SimulatedProcess {
  readonly name: string;
  readonly world: World;
  readonly random: SeededRandom;
  #condition: 'running' | 'paused' | 'dead' = 'running';
  #waiting: (() => void)[] = [];
  readonly #onDeath = new Set<() => void>();
  /** How far the wall clock is ahead of true time. */
  #skewMs: number;
  /** What monotonic time missed while the machine was suspended. */
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

  /** This process's clock: its wall clock may be wrong and may step, its rate is everybody's. */
  readonly clock: Clock = {
    wallMs: () => Math.floor(this.world.wallMs() + this.#skewMs),
    monotonicMs: () => (this.#suspendedAtMs ?? this.world.nowMs) - this.#suspendedMs,
    after: (delayMs, task) => this.#timer(delayMs, task),
  };

  /** This process's randomness port. */
  get randomness() {
    return randomnessOf(this.random);
  }

  /** Lets something happen to the process: now, when it is resumed, or never. */
  deliver(task: () => void): void {
    if (this.#condition === 'running') task();
    else if (this.#condition === 'paused') this.#waiting.push(task);
  }

  /** Runs `task` in this process after `delayMs` of true time. */
  later(delayMs: number, task: () => void): Disposable {
    return this.world.after(delayMs, () => this.deliver(task));
  }

  /** Hears of the process's end, which the process itself does not. */
  onDeath(listener: () => void): Disposable {
    this.#onDeath.add(listener);
    return { [Symbol.dispose]: () => void this.#onDeath.delete(listener) };
  }

  /** SIGKILL, or a clean exit: from here on nothing happens to it. */
  end(): void {
    if (this.#condition === 'dead') return;
    this.#condition = 'dead';
    this.#waiting = [];
    const listeners = [...this.#onDeath];
    this.#onDeath.clear();
    for (const listener of listeners) listener();
  }

  /** SIGSTOP, or with `suspend` the machine under it: then its monotonic clock stands too. */
  pause(kind: 'stop' | 'suspend'): void {
    if (this.#condition !== 'running') return;
    this.#condition = 'paused';
    if (kind === 'suspend') this.#suspendedAtMs = this.world.nowMs;
  }

  /** SIGCONT: everything that waited happens now, late, in the order in which it came. */
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

  /** Steps the wall clock, as an operator or NTP may. */
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
