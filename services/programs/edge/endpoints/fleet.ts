/*
 * The fleet call: observations of many instances in one request. Each observation succeeds or fails
 * by itself.
 */
import { z } from 'zod';
import { endpoint, type FleetItem, type FleetRequest } from '#edge/endpoints/endpoint';
import { assertNotFuture, BatchObservation, observationInput } from '#edge/endpoints/observations';
import { dataOf, ProcessedFleet } from '#edge/schemas/answers';
import { fingerprintOf } from '#edge/serve/engine-calls';
import { type ItemKeySource, type ItemsBody, withoutMember } from '#edge/serve/json';
import { checked } from '#edge/serve/request-plan';
import type { TimeSlice } from '#edge/serve/time-slice';
import { Fault, invalid } from '#errors/fault';
import type { IdempotencyKey } from '#grpc/engine-messages';
import { CYCLE_INTERVAL_MS_MIN } from '#identity/model';

/** Maximum observations of a call. */
const OBSERVATIONS_MAX = 1_000;

/** Maximum body, in bytes. */
const BODY_BYTES_MAX = 1_024 * 1_024;

/** Observations that count as one request. */
const OBSERVATIONS_PER_REQUEST = 100;

/** Maximum length of an id in a result. Instance ids have 21 characters. */
const SHOWN_ID_LENGTH_MAX = 64;

/** Path of the single call, whose fingerprint an item with a key shares. */
const singlePath = (instanceId: string) => `/v1/instances/${instanceId}/process`;

const ItemSchema = z
  .strictObject({
    instance_id: z.string().max(SHOWN_ID_LENGTH_MAX).describe('Id of the instance.'),
    ...BatchObservation.shape,
  })
  .meta({
    id: 'FleetObservation',
    examples: [
      { instance_id: 'inst_00000000000000ff', mode_target: 'ORDER', signal_strength: 0.7 },
    ],
  });

const compiledItem = z.compile(ItemSchema);

const fields = { include_state: z.boolean().optional().meta({ default: false }) };

/** The body with unchecked items. */
const compiledBody = z.compile(
  z.strictObject({ observations: z.array(z.unknown()).min(1).max(OBSERVATIONS_MAX), ...fields }),
);

const Fleet = z
  .strictObject({ observations: z.array(ItemSchema).min(1).max(OBSERVATIONS_MAX), ...fields })
  .meta({
    id: 'Fleet',
    examples: [
      {
        observations: [
          { instance_id: 'inst_00000000000000ff', mode_target: 'ORDER', signal_strength: 0.7 },
        ],
      },
    ],
  });

/**
 * Checks a body and its items. Throws `invalid_request` for a body that is invalid as a whole. An
 * invalid item becomes a refused item.
 */
async function fleetRequest(
  { value, refused }: ItemsBody,
  nowMs: number,
  slice: TimeSlice,
): Promise<FleetRequest> {
  const { observations, include_state: isStateWanted = false } = checked(compiledBody, value);
  const seen = { newestMs: new Map<string, number>(), keys: new Set<string>() };
  const items: FleetItem[] = [];
  for (let index = 0; index < observations.length; index += 1) {
    while (slice.isOver) await slice.next();
    items.push(itemOf(index, observations[index], refused.get(index), nowMs, seen));
  }
  return {
    items,
    isStateWanted,
    requests: Math.ceil(items.length / OBSERVATIONS_PER_REQUEST),
    cycles: items.filter(({ kind }) => kind === 'observation').length,
  };
}

/** The checked item, or the item with `refusal` or the fault of the check. */
function itemOf(
  index: number,
  item: unknown,
  refusal: Fault | undefined,
  nowMs: number,
  seen: Seen,
): FleetItem {
  try {
    if (refusal !== undefined) throw refusal;
    return checkedItem(item, nowMs, seen);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { kind: 'refused', instanceId: idIn(item), fault: atItem(index, error) };
  }
}

/** Facts about the earlier items of a call. */
type Seen = {
  /** Newest timestamp in Unix milliseconds, by instance. */
  readonly newestMs: Map<string, number>;
  /** Instances with keys. */
  readonly keys: Set<string>;
};

/** Checks one item. Throws `invalid_request`; `field` is a path in the item. */
function checkedItem(item: unknown, nowMs: number, seen: Seen): FleetItem {
  const { instance_id: instanceId, idempotency_key: key, ...rest } = checked(compiledItem, item);
  const observation = observationInput(rest);
  const { timestampMs } = observation;
  assertNotFuture(timestampMs, nowMs, 'timestamp');
  const name = key === undefined ? undefined : `${instanceId}\n${key.key}`;
  // The engine replays a repeated key, so its timestamp does not matter.
  if (timestampMs !== undefined && (name === undefined || !seen.keys.has(name))) {
    assertAscending(instanceId, timestampMs, seen);
  }
  if (name !== undefined) seen.keys.add(name);
  const idempotency = key === undefined ? undefined : keyOf(key, instanceId);
  return { kind: 'observation', instanceId, observation, idempotency };
}

/** Throws `timestamp_order` if a timestamp is too close to the previous one of the instance. */
function assertAscending(instanceId: string, timestampMs: number, { newestMs }: Seen): void {
  const earlierMs = newestMs.get(instanceId) ?? Number.NEGATIVE_INFINITY;
  if (timestampMs < earlierMs + CYCLE_INTERVAL_MS_MIN) {
    const text = 'timestamp: less than 1.000 s after the previous observation of the instance';
    throw invalid('timestamp_order', 'timestamp', text);
  }
  newestMs.set(instanceId, timestampMs);
}

/** Key of an item, with the fingerprint of the single call with the same observation. */
function keyOf({ key, observationText }: ItemKeySource, instanceId: string): IdempotencyKey {
  const body = withoutMember(observationText, 0, 'instance_id') ?? observationText;
  return { key, fingerprint: fingerprintOf('POST', singlePath(instanceId), body) };
}

/** The id in a refused item, unless the answer should not repeat it. */
function idIn(item: unknown): string | undefined {
  const { instance_id: id } = (item ?? {}) as { readonly instance_id?: unknown };
  const isShown = typeof id === 'string' && id.length <= SHOWN_ID_LENGTH_MAX && id.isWellFormed();
  return isShown ? id : undefined;
}

/** The fault of an item, with a field in the body. */
function atItem(index: number, { code, reason, field, message, cause }: Fault): Fault {
  const item = `observations[${index}]`;
  const place = field === undefined ? item : `${item}.${field}`;
  const own = message.replace(/^the body\b/, 'the item').replace(/ of the body\b/, ' of the item');
  const text = field !== undefined && own.startsWith(field) ? `${item}.${own}` : own;
  return new Fault(code, text, { reason, field: place, cause });
}

/** Endpoint `POST /process`. Source: interface 4.2. */
export const processFleet = endpoint({
  name: 'processFleet',
  method: 'POST',
  path: '/process',
  tag: 'Engine',
  summary: 'Process up to 1,000 observations of many instances',
  description:
    '1 to 1,000 observations, at most 1 MiB, for any instances of the account. Each observation ' +
    'follows the rules of a single call, and is applied, throttled or refused by itself: the ' +
    'answer is 200 with one result per observation, in input order. Observations of one instance ' +
    'keep their order. After a refused observation, or an observation with unknown outcome, later ' +
    'observations of the same instance are not attempted.\n\n' +
    'Costs one request for each 100 observations, and one cycle for each applied observation. If ' +
    'the quota has fewer cycles left, the last observations are refused with `quota_exceeded`. If ' +
    'no cycle is left and no key is known, the whole call is 429.\n\n' +
    'An observation may have an `idempotency_key`, with the rules of `Idempotency-Key` of a single ' +
    'call: a retry with the same key, alone or in another call, gets the same result as ' +
    '`replayed`. Retry only the results whose `retry` is not `never`.',
  scope: 'full',
  bodyBytesMax: BODY_BYTES_MAX,
  body: Fleet,
  response: dataOf(ProcessedFleet),
  refusals: ['missing_field', 'too_short', 'too_long'],
  refusalCodes: ['quota_exceeded'],
  handler: { kind: 'fleet', itemsMax: OBSERVATIONS_MAX, request: fleetRequest },
});
