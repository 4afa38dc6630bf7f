import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void;

/** Collects what has died young, as V8 does all the time. */
export function collectYoung(): void {
  collect({ type: 'minor' });
}

/** The same with what arrays of numbers hold outside of the heap. */
export function liveBytes(): number {
  return liveHeapBytes() + process.memoryUsage().arrayBuffers;
}

/** Bytes of the heap that are in use when all garbage has been collected. */
export function liveHeapBytes(): number {
  // Twice: what the first collection finalizes is freed by the second.
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
