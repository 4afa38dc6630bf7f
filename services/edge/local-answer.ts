import type { Task } from '#edge/operation';

/** A task that the edge answers itself: no engine, no cycle. `describe` may throw a refusal. */
export function localAnswer(describe: () => object): Task {
  return {
    kind: 'local',
    answer: () => {
      const body = JSON.stringify(describe());
      return { body, etag: '', cycles: 0, throttledRetryAfterS: 0, isReplayed: false };
    },
  };
}
