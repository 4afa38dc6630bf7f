import type { Reloadable } from '#stdlib/files';

/** A value that a test changes, like a reloaded file. */
export type Settable<Value> = Reloadable<Value> & { set(value: Value): void };

/** A reloadable value, initially `value`. */
export function settable<Value>(value: Value): Settable<Value> {
  const tasks = new Set<(value: Value) => void>();
  let current = value;
  return {
    get current() {
      return current;
    },
    onChange(task) {
      tasks.add(task);
      return { [Symbol.dispose]: () => void tasks.delete(task) };
    },
    set(changed) {
      current = changed;
      for (const task of tasks) task(changed);
    },
  };
}
