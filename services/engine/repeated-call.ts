import { applyEvent } from '#engine/apply-event';
import { answerAgain } from '#engine/instance-answers';
import type { ModelPorts } from '#engine/instance-model';
import { headOf, type InstanceState, instanceFrom } from '#engine/instance-state';
import type { ItemStatus } from '#engine/keyed-items';
import { faultFor } from '#fault/fault';
import type { Turn } from '#runtime/turn';
import type { EngineAnswer, EngineCall } from '#wire/engine-messages';

/**
 * The answer to a call without a key that was committed before: of the present state, if it was the
 * last one; else its own, made from the records that this process has run again. Throws
 * `service_unavailable` of unknown outcome when neither is here any more (decision 90).
 */
export function answerToRepeated(
  { command, instanceId }: EngineCall,
  state: InstanceState,
  { version, earlierVersion = 0 }: Pick<Turn<unknown>, 'version' | 'earlierVersion'>,
  ports: ModelPorts,
  statuses?: readonly ItemStatus[],
): EngineAnswer {
  const answer =
    (earlierVersion === version
      ? answerAgain(instanceId, headOf(state), command, ports.models, statuses)
      : undefined) ?? answerOfRecords(instanceId, state, earlierVersion, ports);
  if (answer !== undefined) return answer;
  throw faultFor(
    'outcome_unknown',
    'it has happened, but its answer is gone; read the instance before you send it again',
    { retryAfterS: 1, isOutcomeUnknown: true },
  );
}

function answerOfRecords(
  instanceId: string,
  { recovery }: InstanceState,
  version: number,
  ports: ModelPorts,
): EngineAnswer | undefined {
  if (recovery === undefined) return undefined;
  const { head, events } = recovery;
  const first = (head?.version ?? 0) + 1;
  if (version < first || version >= first + events.length) return undefined;
  let scratch = instanceFrom(head);
  let answer: EngineAnswer | undefined;
  for (const [index, event] of events.slice(0, version - first + 1).entries()) {
    ({ state: scratch, answer } = applyEvent(instanceId, scratch, event, first + index, ports));
  }
  return answer;
}
