import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void;

/** Runs a minor collection, like V8's own. */
export function collectYoung(): void {
  collect({ type: 'minor' });
}

/** Live bytes including array buffers outside the heap. */
export function liveBytes(): number {
  return liveHeapBytes() + process.memoryUsage().arrayBuffers;
}

/** Live heap bytes after a full collection. */
export function liveHeapBytes(): number {
  // Twice: the second collection frees objects finalized by the first.
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
