/** Time as a port, so that a whole process can run under a simulated clock. Source: architecture 7. */
export interface Clock {
  /** Unix time in milliseconds; may step either way. */
  wallMs(): number;
  /** Milliseconds since an arbitrary start; never steps back. */
  monotonicMs(): number;
  /** Runs `task` once after `delayMs`, unless disposed before. Does not keep the process alive. */
  after(delayMs: number, task: () => void): Disposable;
}

/** The machine's clock. */
export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    timer.unref();
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};

/** Fulfils after `delayMs`. */
export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => void clock.after(delayMs, resolve));
}

/** Runs `task` every `periodMs` until disposed; a slow task delays its successor instead of piling up. */
export function every(clock: Clock, periodMs: number, task: () => void): Disposable {
  let pending = clock.after(periodMs, run);
  function run(): void {
    task();
    pending = clock.after(periodMs, run);
  }
  return { [Symbol.dispose]: () => pending[Symbol.dispose]() };
}

/** What `pending` becomes, or `late` as a rejection after `timeoutMs`; `pending` goes on. */
export async function withinMs<Value>(
  clock: Clock,
  timeoutMs: number,
  pending: Promise<Value>,
  late = () => new Error(`no answer in ${timeoutMs} ms`),
): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  using _timer = clock.after(timeoutMs, () => reject(late()));
  return await Promise.race([pending, promise]);
}
