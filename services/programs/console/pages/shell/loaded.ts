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

/** First pause before a failed load is repeated, in milliseconds. Doubles after each failure. */
const AGAIN_MS_MIN = 2_000;
/** Maximum pause before a failed load is repeated, in milliseconds: a minute, to spare the service. */
const AGAIN_MS_MAX = 60_000;

/**
 * Loads a value when the component mounts and when `of` changes. Answers to outdated requests are
 * ignored. After an outage, the load is repeated without a click: with growing pauses, and when the
 * browser comes online or the tab is shown.
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
  const refusal = loaded.kind === 'failed' ? loaded.refusal : undefined;
  useRetry(refusal, () => void reload(), loaded.kind === 'ready');
  return { loaded, reload };
}

/**
 * Repeats a load that an outage refused: no answer came, or the service was unavailable. `hasLoaded`
 * ends the outage, so that the next outage begins with a short pause.
 */
export function useRetry(refusal: Refused | undefined, load: () => void, hasLoaded: boolean): void {
  const failures = useRef(0);
  useEffect(() => {
    if (hasLoaded) failures.current = 0;
    if (refusal === undefined || !OUTAGES.includes(refusal.code)) return undefined;
    failures.current += 1;
    return repeated(failures.current, refusal, load);
  }, [refusal, hasLoaded]);
}

/** Codes of refusals that end without an action of the person. */
const OUTAGES: readonly string[] = ['no_answer', 'service_unavailable'];

/**
 * Calls `load` after a pause, and as soon as the browser comes online or the tab is shown. A hidden
 * tab waits. Returns a function that stops the wait.
 */
function repeated(failures: number, { retryAfterSeconds }: Refused, load: () => void): () => void {
  const pauseMs = Math.min(AGAIN_MS_MIN * 2 ** (failures - 1), AGAIN_MS_MAX);
  const waitMs = Math.max(pauseMs, (retryAfterSeconds ?? 0) * 1_000);
  const look = (): void => {
    if (!document.hidden) load();
  };
  const timer = setTimeout(look, waitMs);
  addEventListener('online', look);
  document.addEventListener('visibilitychange', look);
  return () => {
    clearTimeout(timer);
    removeEventListener('online', look);
    document.removeEventListener('visibilitychange', look);
  };
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
