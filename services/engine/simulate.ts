import { applyEvent } from '#engine/apply-event';
import { etagOf } from '#engine/etag';
import type { InstanceEvent } from '#engine/instance-event';
import type { ModelPorts } from '#engine/instance-model';
import { headOf, type InstanceState, instanceFrom } from '#engine/instance-state';
import { timingOf } from '#engine/minimum-interval';
import { timedFrom } from '#engine/observe';
import { invalid } from '#fault/fault';
import { CYCLE_INTERVAL_MS_MIN } from '#identity/advance';
import { nextVersion } from '#identity/model';
import type { EngineAnswer, EngineCall, EngineCommand } from '#wire/engine-messages';

/** A call that simulates, and what it is asked of. */
type Simulation = {
  readonly call: Pick<EngineCall, 'instanceId' | 'modelVersion'>;
  readonly command: Extract<EngineCommand, { kind: 'simulate' }>;
  /** Unix milliseconds. */
  readonly nowMs: number;
};

/**
 * What observations would make of an instance, state by state. They are applied to a copy, which is thrown
 * away: nothing of the instance changes, and no cycle is charged. Observations without times of their
 * own follow each other at one second, the first as soon as the instance takes one; others keep the
 * rules of a batch. Throws `invalid_request` when the first comes too early.
 */
export function simulatedAnswer(
  state: InstanceState,
  { call: { instanceId, modelVersion }, command, nowMs }: Simulation,
  ports: ModelPorts,
): EngineAnswer {
  const head = headOf(state);
  const { observations } = command;
  const { observedAtMs } = head;
  const soonestMs = Math.max(nowMs, (observedAtMs ?? 0) + CYCLE_INTERVAL_MS_MIN);
  const timing = timingOf(observations[0]?.timestampMs ?? soonestMs, observations.length, {
    observedAtMs,
    nowMs,
    presentMs: nowMs,
  });
  if (timing.kind === 'throttled') {
    const text = 'less than 1.0 s after the previous observation';
    throw invalid('timestamp_order', 'observations[0].timestamp', text);
  }
  const timed = timedFrom(timing.firstMs, observations);
  const event: InstanceEvent = {
    modelVersion: nextVersion(ports.models, head.modelVersion, modelVersion),
    change: { kind: 'observed', observations: timed, isBatch: true, isEveryStateWanted: true },
    atMs: nowMs,
    answerKey: undefined,
  };
  // A head in memory without anything else copies its model before a cycle writes to it.
  const copy = instanceFrom(head);
  const { answer } = applyEvent(instanceId, copy, event, head.version, ports);
  return { ...answer, cycles: 0, etag: etagOf(instanceId, head.version) };
}
