import type { KeyedItems, TimedObservation } from '#engine/instance-event';
import { headOf, type InstanceState } from '#engine/instance-state';
import { presentOf, type Timing, timingOf } from '#engine/minimum-interval';
import { CYCLE_INTERVAL_MS_MIN } from '#identity/advance';
import type { Instant } from '#platform/instant';
import type { EngineCommand, ObservationInput } from '#wire/engine-messages';

type Process = Extract<EngineCommand, { kind: 'process' }>;

/** The part of an `observed` event that a process or batch call decides, or that it came too early. */
type Observed =
  | {
      readonly kind: 'observed';
      readonly observations: readonly TimedObservation[];
      readonly isBatch: boolean;
      readonly isEveryStateWanted: boolean;
      readonly items?: KeyedItems;
    }
  | Extract<Timing, { kind: 'throttled' }>;

/**
 * Gives the observations of a call their times, by the rules of decisions 1, 8 and 152. `items`: keys and
 * outcomes of a batch's items, where one has a key.
 */
export function observedEvent(
  state: InstanceState,
  command: Process,
  now: Instant,
  items?: KeyedItems,
): Observed {
  const { observations, isBatch, isEveryStateWanted } = command;
  const timing = timingOf(observations[0]?.timestampMs, observations.length, {
    observedAtMs: headOf(state).observedAtMs,
    nowMs: now.wallMs,
    presentMs: anchoredPresent(state, now),
  });
  if (timing.kind === 'throttled') return timing;
  const timed = timedFrom(timing.firstMs, observations);
  const observed = { kind: 'observed', observations: timed, isBatch, isEveryStateWanted } as const;
  if (items === undefined) return observed;
  const { keys, statuses } = items;
  return { ...observed, items: { keys, statuses } };
}

/** Observations with their own times, or else one second apart from `firstMs` on (decision 8). */
export function timedFrom(
  firstMs: number,
  observations: readonly ObservationInput[],
): TimedObservation[] {
  return observations.map((observation, index) => ({
    ...observation,
    timestampMs: observation.timestampMs ?? firstMs + index * CYCLE_INTERVAL_MS_MIN,
  }));
}

/**
 * The present time, from which the next one is counted on. Of an actor that was observed before it
 * came to this process only its last event's time is known; since then a second has passed.
 */
function anchoredPresent(state: InstanceState, now: Instant): number {
  const { clockAnchor } = state;
  const wallMs =
    clockAnchor === undefined ? firstPresent(state, now.wallMs) : presentOf(clockAnchor, now);
  state.clockAnchor = { wallMs, monotonicMs: now.monotonicMs };
  return wallMs;
}

function firstPresent(state: InstanceState, nowMs: number): number {
  const { observedAtMs, updatedAtMs } = headOf(state);
  const knownMs = observedAtMs === undefined ? nowMs : updatedAtMs + CYCLE_INTERVAL_MS_MIN;
  return Math.max(nowMs, knownMs);
}
