import { useEffect, useRef, useState } from 'preact/hooks';
import type { Webhook, WebhookDeliveries } from '#clients/typescript/src/models';
import { Refused } from '#pages/shell/api';
import { webhookApi } from '#pages/webhooks/api';

/**
 * Interval between two automatic requests, in milliseconds. Each refresh uses two requests of the
 * account.
 */
const REFRESH_MS = 60_000;

/** Time after an action until its messages usually have an outcome, in milliseconds. */
const OUTCOME_MS = 2_000;

/** An endpoint, and its last deliveries. */
export type EndpointData = {
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

/** Loads an endpoint. Refreshes every minute while the tab is visible. */
export function useEndpoint(id: string): LoadedEndpoint {
  const [data, setData] = useState<EndpointData | undefined>();
  const [refusal, setRefusal] = useState<Refused | undefined>();
  const [isBusy, setBusy] = useState(false);
  const newest = useRef(0);
  const soon = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const load = async (isUnattended: boolean): Promise<void> => {
    newest.current += 1;
    const own = newest.current;
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
    const timer = setInterval(() => {
      if (!document.hidden) void load(true);
    }, REFRESH_MS);
    return () => {
      clearInterval(timer);
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
