const works = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `work` when a signal is aborted. Returns a function that removes the registration. All
 * registrations for a signal share a listener, because Node 20 warns about many listeners
 * (MaxListenersExceededWarning). The last removal removes the listener.
 */
export function onAbort(signal: AbortSignal, work: () => void): () => void {
  let all = works.get(signal);
  if (all === undefined) {
    all = new Set();
    works.set(signal, all);
  }
  if (all.size === 0) signal.addEventListener('abort', aborted);
  // Separate function per registration, so that the same work may be registered twice.
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
