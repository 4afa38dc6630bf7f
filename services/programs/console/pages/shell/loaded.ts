import { useEffect, useRef, useState } from 'preact/hooks';
import { Refused } from '#pages/shell/api';

/** Result of loading a value. */
type Outcome<Value> =
  | { readonly kind: 'failed'; readonly refusal: Refused }
  | { readonly kind: 'ready'; readonly value: Value };

/** State of loading a value. */
type Loaded<Value> = { readonly kind: 'loading' } | Outcome<Value>;

/** A loaded value and a reload function. The old value stays visible during a reload. */
export type Loading<Value> = {
  readonly loaded: Loaded<Value>;
  readonly reload: () => Promise<void>;
};

/**
 * Loads a value when the component mounts and when `of` changes. Answers to outdated requests are
 * ignored.
 */
export function useLoaded<Value>(load: () => Promise<Value>, of = ''): Loading<Value> {
  const [loaded, setLoaded] = useState<Loaded<Value>>({ kind: 'loading' });
  const newest = useRef(0);
  const reload = async (): Promise<void> => {
    newest.current += 1;
    const own = newest.current;
    const next = await outcomeOf(load);
    if (own === newest.current) setLoaded(next);
  };
  useEffect(() => {
    void reload();
    return () => {
      newest.current += 1;
    };
  }, [of]);
  return { loaded, reload };
}

/** Loads a value. A bug becomes a refusal, and is reported to the browser's console. */
export async function outcomeOf<Value>(load: () => Promise<Value>): Promise<Outcome<Value>> {
  try {
    return { kind: 'ready', value: await load() };
  } catch (error) {
    return { kind: 'failed', refusal: refusalIn(error) };
  }
}

/** An action that a person starts. At most one runs at a time. */
type Action<Args extends readonly unknown[]> = {
  readonly run: (...args: Args) => void;
  readonly isBusy: boolean;
  readonly refusal: Refused | undefined;
};

/** Wraps `act`. Calls during a run are ignored. `refusal` is the refusal of the last run. */
export function useAction<Args extends readonly unknown[]>(
  act: (...args: Args) => Promise<unknown>,
): Action<Args> {
  const [isBusy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refused | undefined>();
  const isRunning = useRef(false);
  const attempt = async (args: Args): Promise<void> => {
    if (isRunning.current) return;
    isRunning.current = true;
    setBusy(true);
    setRefusal(undefined);
    try {
      await act(...args);
    } catch (error) {
      setRefusal(refusalIn(error));
    } finally {
      isRunning.current = false;
      setBusy(false);
    }
  };
  return { run: (...args) => void attempt(args), isBusy, refusal };
}

/**
 * Returns a `Refused` unchanged. Any other error is a bug: it is reported to the browser's console
 * and converted to a refusal.
 */
function refusalIn(error: unknown): Refused {
  if (error instanceof Refused) return error;
  reportError(error);
  return new Refused('internal', 'This page has a bug. Load the page again.');
}
