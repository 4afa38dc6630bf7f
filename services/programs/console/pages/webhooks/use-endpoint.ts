import { useEffect, useRef, useState } from 'preact/hooks';
import type { Webhook, WebhookDeliveries } from '#clients/typescript/src/models';
import { Refused } from '#pages/shell/api';
import { webhookApi } from '#pages/webhooks/api';

/**
 * Interval between two automatic requests, in milliseconds. Each refresh uses two requests of the
 * account.
 */
const REFRESH_MS = 60_000;

/** Interval at which the age of the data is checked, in milliseconds. */
const LOOK_MS = 1_000;

/** Time after an action until its messages usually have an outcome, in milliseconds. */
const OUTCOME_MS = 2_000;

/** An endpoint, and its last deliveries. */
type EndpointData = {
  readonly webhook: Webhook;
  readonly deliveries: WebhookDeliveries;
};

/** A loaded endpoint. Old data stays visible during a refresh and after a failed refresh. */
export type LoadedEndpoint = {
  readonly data: EndpointData | undefined;
  readonly refusal: Refused | undefined;
  readonly isBusy: boolean;
  readonly refresh: () => Promise<void>;
  /** Refreshes once more as soon as sent messages usually have an outcome. */
  readonly refreshSoon: () => void;
};

/**
 * Loads an endpoint. Refreshes every minute while the tab is visible. A tab that becomes visible
 * again refreshes at once if its data is older.
 */
export function useEndpoint(id: string): LoadedEndpoint {
  const [data, setData] = useState<EndpointData | undefined>();
  const [refusal, setRefusal] = useState<Refused | undefined>();
  const [isBusy, setBusy] = useState(false);
  const newest = useRef(0);
  const begunMs = useRef(0);
  const soon = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const load = async (isUnattended: boolean): Promise<void> => {
    newest.current += 1;
    const own = newest.current;
    begunMs.current = performance.now();
    setBusy(true);
    try {
      const [webhook, deliveries] = await Promise.all([
        webhookApi.one(id, isUnattended),
        webhookApi.deliveries(id, isUnattended),
      ]);
      if (own !== newest.current) return;
      setData({ webhook, deliveries });
      setRefusal(undefined);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (own === newest.current) setRefusal(error);
    } finally {
      if (own === newest.current) setBusy(false);
    }
  };
  useEffect(() => {
    void load(false);
    const look = (): void => {
      const isOld = performance.now() >= begunMs.current + REFRESH_MS;
      if (isOld && !document.hidden) void load(true);
    };
    const timer = setInterval(look, LOOK_MS);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
      clearTimeout(soon.current);
      newest.current += 1;
    };
  }, [id]);
  const refreshSoon = (): void => {
    clearTimeout(soon.current);
    soon.current = setTimeout(() => void load(false), OUTCOME_MS);
  };
  return { data, refusal, isBusy, refresh: () => load(false), refreshSoon };
}
