import type { Journal } from '#storage/journal';

/**
 * The journal of a process that forgets everything when it dies (interface 1.8): no process could ever read
 * a record back, so none is kept, and what is appended is as durable as it will get at once.
 */
export function memoryJournal(): Journal {
  return { isLasting: false, isOnlyWriter: true, append: () => undefined };
}
