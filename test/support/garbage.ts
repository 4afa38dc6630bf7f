import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void;

/** Runs a minor garbage collection, as V8 does by itself. */
export function collectYoung(): void {
  collect({ type: 'minor' });
}

/** Live bytes after a full collection, including array buffers outside the heap. */
export function liveBytes(): number {
  return liveHeapBytes() + process.memoryUsage().arrayBuffers;
}

/** Live heap bytes after a full collection. */
export function liveHeapBytes(): number {
  // Collect twice: the second collection frees objects that the first collection finalized.
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
