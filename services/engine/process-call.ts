import type { InstanceApplied } from '#engine/apply-event';
import type { EngineMetrics } from '#engine/engine-metrics';
import { replayedItemsAnswer, throttledAnswer } from '#engine/instance-answers';
import type { InstanceChange } from '#engine/instance-event';
import type { ModelPorts } from '#engine/instance-model';
import { headOf, type InstanceState } from '#engine/instance-state';
import { nothingToReplay } from '#engine/keyed-answers';
import {
  assertFreshOrder,
  findItemRows,
  type SortedItems,
  sortItems,
  throttledOf,
} from '#engine/keyed-items';
import { observedEvent } from '#engine/observe';
import { answerToRepeated } from '#engine/repeated-call';
import { type Models, nextVersion } from '#identity/model';
import type { Turn } from '#runtime/turn';
import type { InstanceStore } from '#storage/instance-store';
import type { EngineAnswer, EngineCall, EngineCommand } from '#wire/engine-messages';

type Process = Extract<EngineCommand, { kind: 'process' }>;
type ProcessCall = EngineCall & { readonly command: Process };
type AnyTurn = Turn<never>;

/** What processing a call takes. */
export type Processing<SomeTurn> = {
  readonly model: ModelPorts;
  readonly store: Pick<InstanceStore, 'findAnswers'>;
  readonly metrics: EngineMetrics;
  /** Commits a change with the model of a version. */
  readonly commit: (
    call: EngineCall,
    turn: SomeTurn,
    change: InstanceChange,
    modelVersion: string,
  ) => InstanceApplied;
};

/** How a single call is answered. */
const SINGLE = { isBatch: false, isEveryStateWanted: false } as const;

/** Whether items of a batch have idempotency keys. */
export function hasItemKeys(command: EngineCommand): boolean {
  return command.kind === 'process' && command.itemKeys !== undefined;
}

/**
 * Processes a single observation or a batch. Of a batch with item keys only the items whose keys are new
 * are applied (decision 280). Throws `invalid_request` for items that break a rule: nothing is applied.
 */
export function processed<SomeTurn extends AnyTurn>(
  state: InstanceState,
  call: ProcessCall,
  turn: SomeTurn,
  ports: Processing<SomeTurn>,
): EngineAnswer | Promise<EngineAnswer> {
  if (call.command.itemKeys === undefined) return applied(state, call, call.command, turn, ports);
  return processedItems(state, call, turn, ports);
}

/** Answer to a single call whose observation was an item of a batch: the present state. */
export function replayedItem(
  state: InstanceState,
  { instanceId }: Pick<EngineCall, 'instanceId'>,
  models: Models,
): EngineAnswer {
  return replayedItemsAnswer(instanceId, headOf(state), SINGLE, models);
}

async function processedItems<SomeTurn extends AnyTurn>(
  state: InstanceState,
  call: ProcessCall,
  turn: SomeTurn,
  ports: Processing<SomeTurn>,
): Promise<EngineAnswer> {
  const { command } = call;
  const { models } = ports.model;
  const rows = await findItemRows(call, command, state, turn.wallMs, ports.store);
  const items = sortItems(call, command, rows, turn.earlierVersion);
  const { fresh, statuses } = items;
  const part = { ...command, observations: fresh };
  if (fresh.length === 0) {
    return replayedItemsAnswer(call.instanceId, headOf(state), part, models, statuses);
  }
  if (turn.earlierVersion !== undefined) {
    return answerToRepeated({ ...call, command: part }, state, turn, ports.model, statuses);
  }
  if (call.isReplayOnly) throw nothingToReplay();
  assertFreshOrder(items);
  return applied(state, call, part, turn, ports, items);
}

function applied<SomeTurn extends AnyTurn>(
  state: InstanceState,
  call: EngineCall,
  command: Process,
  turn: SomeTurn,
  ports: Processing<SomeTurn>,
  items?: SortedItems,
): EngineAnswer {
  const { model, metrics, commit } = ports;
  const observed = observedEvent(state, command, turn, items);
  const head = headOf(state);
  if (observed.kind === 'throttled') {
    metrics.throttled();
    const { instanceId } = call;
    const statuses = items && throttledOf(items);
    const { retryAfterS } = observed;
    return throttledAnswer(instanceId, head, command, retryAfterS, model.models, statuses);
  }
  const { driftCount: driftBefore, modelVersion: present } = head;
  const version = nextVersion(model.models, present, call.modelVersion);
  const { state: next, answer } = commit(call, turn, observed, version);
  const driftEvents = headOf(next).driftCount - driftBefore;
  metrics.cycled(answer.cycles, next.unstored?.drift ?? [], driftEvents);
  return answer;
}
