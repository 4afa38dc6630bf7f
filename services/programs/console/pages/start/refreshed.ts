import { useEffect, useRef, useState } from 'preact/hooks';
import type { Refused } from '#pages/shell/api';
import { type Loading, outcomeOf, useLoaded } from '#pages/shell/loaded';

/** A loaded value that is kept up to date. */
export type Refreshed<Value> = Loading<Value> & {
  /** Refusal of the last refresh. The previous value stays visible. */
  readonly lost: Refused | undefined;
};

/**
 * Loads a value, and refreshes the value every `everyMs` milliseconds while the tab is visible. A
 * tab that becomes visible again refreshes at once. `refresh` must send an unattended request,
 * which does not extend the session. At most one refresh runs at a time.
 */
export function useRefreshed<Value>(
  load: () => Promise<Value>,
  refresh: () => Promise<Value>,
  everyMs: number,
): Refreshed<Value> {
  const { loaded, reload } = useLoaded(load);
  const [newer, setNewer] = useState<{ value?: Value; lost?: Refused }>({});
  const isRunning = useRef(false);
  const isReady = loaded.kind === 'ready';
  useEffect(() => {
    if (!isReady) return undefined;
    let isOver = false;
    const look = async (): Promise<void> => {
      if (document.hidden || isRunning.current) return;
      isRunning.current = true;
      const next = await outcomeOf(refresh);
      isRunning.current = false;
      if (isOver) return;
      setNewer((before) =>
        next.kind === 'ready' ? { value: next.value } : { ...before, lost: next.refusal },
      );
    };
    const timer = setInterval(() => void look(), everyMs);
    const shown = (): void => void look();
    document.addEventListener('visibilitychange', shown);
    return () => {
      isOver = true;
      clearInterval(timer);
      document.removeEventListener('visibilitychange', shown);
    };
  }, [isReady, everyMs]);
  const { value, lost } = newer;
  return {
    loaded: isReady && value !== undefined ? { kind: 'ready', value } : loaded,
    reload,
    lost,
  };
}
