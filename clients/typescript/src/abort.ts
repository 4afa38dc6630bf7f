const works = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `work` when a signal is aborted, unless what is returned is called before. All works of a signal share
 * one listener: a signal of a hundred calls would otherwise have a hundred, which Node 20 warns of
 * (MaxListenersExceededWarning). Leaves no listener behind.
 */
export function onAbort(signal: AbortSignal, work: () => void): () => void {
  let all = works.get(signal);
  if (all === undefined) {
    all = new Set();
    works.set(signal, all);
  }
  if (all.size === 0) signal.addEventListener('abort', aborted);
  // A function of its own for each call, so that the same work may be there twice.
  const own = () => work();
  all.add(own);
  return () => {
    if (all.delete(own) && all.size === 0) signal.removeEventListener('abort', aborted);
  };
}

function aborted(this: AbortSignal): void {
  const all = works.get(this);
  if (all === undefined) return;
  this.removeEventListener('abort', aborted);
  works.delete(this);
  for (const work of all) work();
}
