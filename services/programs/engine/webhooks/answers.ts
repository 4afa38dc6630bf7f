import type { Attempt } from '#engine/webhooks/attempt-log';
import type { ShownAnswer } from '#grpc/courier-messages';
import { TRANSITIONS } from '#identity/transitions';
import { isoTime } from '#stdlib/clock';
import type { FailedRow, KeptEndpoint, PauseCause } from '#webhooks/endpoint';

/** Names of the causes of a pause in the API. */
export const PAUSE_NAMES: Readonly<Record<PauseCause, string>> = {
  person: 'requested',
  failing: 'failing',
  removed: 'removed',
};

/** An endpoint as in the API. `next`: position of the next row of the feed. */
export function endpointView({ endpoint, progress }: KeptEndpoint, next: number, nowMs: number) {
  const { id, url, description, types, rowsMax, createdAtMs, paused, secrets } = endpoint;
  const { cursor, failingSinceMs, failed, held } = progress;
  const waiting = held.reduce((sum, { rows }) => sum + rows.length, 0);
  const ends = secrets.flatMap(({ untilMs = 0 }) => (untilMs > nowMs ? [untilMs] : []));
  return {
    id,
    url,
    description,
    event_types: TRANSITIONS.filter((_, at) => (types & (1 << at)) !== 0),
    max_batch: rowsMax,
    paused: paused === undefined ? null : PAUSE_NAMES[paused],
    failing_since: failingSinceMs === undefined ? null : isoTime(failingSinceMs),
    changes_behind: Math.max(0, next - cursor) + waiting,
    changes_failed: failed.length,
    old_secret_until: ends.length === 0 ? null : isoTime(Math.max(...ends)),
    created_at: isoTime(createdAtMs),
  };
}

/** An attempt as in the API. */
export function attemptView({ bodies, status, ...attempt }: Attempt) {
  const { messageId, atMs, durationMs, events, positions, failure } = attempt;
  const request = bodies && { body: bodies.request.text, is_truncated: bodies.request.isCut };
  return {
    message_id: messageId,
    attempted_at: isoTime(atMs),
    duration_ms: durationMs,
    events,
    positions,
    failure: failure ?? null,
    ...(request === undefined ? {} : { request }),
    ...(status === undefined ? {} : { response: responseView(status, bodies?.answer) }),
  };
}

function responseView(status: number, answer: ShownAnswer | undefined) {
  if (answer === undefined) return { status };
  const { contentType, text, isCut } = answer;
  return { status, content_type: contentType, body: text, is_truncated: isCut };
}

/** A failed change as in the API. */
export function failedView({ seq, instanceId, atMs, cause }: FailedRow) {
  return { position: seq, instance_id: instanceId, failed_at: isoTime(atMs), failure: cause };
}
