import { Fault } from '#errors/fault';
import { memoryInstanceStore } from '#storage/memory/instances';
import type { InstanceCheckpoint, InstanceStore } from '#storage/ports/instances';

/** A memory store whose checkpoints fail or wait on demand. */
export function storeThatFails() {
  const memory = memoryInstanceStore();
  const failures = { before: false };
  const stored: InstanceCheckpoint[] = [];
  let held: Promise<void> | undefined;
  const store: InstanceStore = {
    ...memory,
    async checkpoint(checkpoints) {
      if (failures.before) throw new Fault('service_unavailable', 'the store is down');
      await held;
      stored.push(...checkpoints);
      await memory.checkpoint(checkpoints);
    },
  };
  /** Blocks checkpoints until the returned function is called. */
  const hold = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    return () => {
      held = undefined;
      resolve();
    };
  };
  return { store, failures, stored, hold };
}
