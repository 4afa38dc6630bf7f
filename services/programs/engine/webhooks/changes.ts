import type { EndpointChange, FeedView } from '#engine/feed/feed';
import { Fault, faultFor } from '#errors/fault';
import type { WebhookCommand, WebhookSettings } from '#grpc/engine-messages';
import {
  ENDPOINTS_MAX,
  type Endpoint,
  type KeptEndpoint,
  OVERLAP_MS,
  type Progress,
  progressFrom,
  SECRETS_MAX,
  type SealedSecret,
} from '#webhooks/endpoint';

/** The endpoint with an id. Throws `not_found`. */
export function endpointIn(endpoints: readonly KeptEndpoint[], id: string): KeptEndpoint {
  const kept = endpoints.find(({ endpoint }) => endpoint.id === id);
  if (kept === undefined) throw new Fault('not_found', 'no such webhook endpoint in this account');
  return kept;
}

/**
 * Change of the endpoints that a command asks for. Undefined: it is done already. `progress`:
 * progress of the running endpoint, which is newer than the stored progress.
 *
 * Throws `not_found` for an unknown endpoint, and `webhook_limit` above `ENDPOINTS_MAX`.
 */
export function changeOf(
  { action, endpointId: id, settings }: WebhookCommand,
  { endpoints, next }: Pick<FeedView, 'endpoints' | 'next'>,
  nowMs: number,
  running: Progress | undefined,
): EndpointChange | undefined {
  if (action === 'create') {
    // The edge chose a random id, so this is a repetition by the router.
    if (endpoints.some(({ endpoint }) => endpoint.id === id)) return undefined;
    if (endpoints.length >= ENDPOINTS_MAX) {
      const text = `the account already has ${ENDPOINTS_MAX} webhook endpoints; delete one`;
      throw faultFor('webhook_limit', text);
    }
    return {
      kind: 'put',
      endpoint: newEndpoint(id, settings, nowMs),
      progress: progressFrom(next),
    };
  }
  const kept = endpointIn(endpoints, id);
  if (action === 'remove') return { kind: 'removed', id };
  const progress = running ?? kept.progress;
  const endpoint = changed(kept.endpoint, settings, nowMs);
  const isResumed = kept.endpoint.paused !== undefined && endpoint.paused === undefined;
  return {
    kind: 'put',
    endpoint,
    progress: isResumed ? { ...progress, failingSinceMs: undefined } : progress,
  };
}

function newEndpoint(id: string, settings: WebhookSettings, nowMs: number): Endpoint {
  const { url = '', description = '', types = 0, rowsMax = 1, sealedSecret = '' } = settings;
  const values = { id, url, description, types, rowsMax };
  return { ...values, secrets: [{ sealed: sealedSecret }], createdAtMs: nowMs, paused: undefined };
}

function changed(endpoint: Endpoint, settings: WebhookSettings, nowMs: number): Endpoint {
  const { isPaused, sealedSecret, ...values } = settings;
  const paused = isPaused === undefined ? endpoint.paused : pausedBy(endpoint, isPaused);
  const secrets =
    sealedSecret === undefined || sealedSecret === endpoint.secrets[0]?.sealed
      ? endpoint.secrets
      : rotated(endpoint, sealedSecret, nowMs);
  return { ...endpoint, ...values, paused, secrets };
}

function pausedBy({ paused }: Endpoint, isPaused: boolean): Endpoint['paused'] {
  return isPaused ? (paused ?? 'person') : undefined;
}

/** The new secret, and the former secrets, which sign until their end. */
function rotated({ secrets }: Endpoint, sealed: string, nowMs: number): SealedSecret[] {
  const former = secrets
    .map((secret) => ({ ...secret, untilMs: secret.untilMs ?? nowMs + OVERLAP_MS }))
    .filter(({ untilMs }) => untilMs > nowMs);
  return [{ sealed }, ...former].slice(0, SECRETS_MAX);
}
