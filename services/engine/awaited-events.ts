import type { EventWaiters } from '#engine/event-waiters';
import type { Clock } from '#platform/clock';
import type { EngineAnswer, EngineCall, EngineCommand } from '#wire/engine-messages';

/** What an answer needs to get back before the call's time is over, in milliseconds. Chosen. */
const ANSWERED_BEFORE_MS = 1_000;

/** What the events of an instance are waited for with. */
type AwaitedEventsPorts = {
  readonly clock: Clock;
  readonly waiters: EventWaiters;
  readonly shardOf: (instanceId: string) => number;
  /** Asks the instance, in a turn. */
  readonly ask: (instanceId: string, call: EngineCall) => EngineAnswer | Promise<EngineAnswer>;
};

/**
 * What has happened to an instance, as soon as anything has; without anything in the time that the
 * command may wait, an answer without events. Between its turns the call holds nothing of the instance.
 * Throws the instance's refusals, and where its shard leaves this node meanwhile what the gate says.
 */
export async function awaitedEvents(
  call: EngineCall,
  { after, waitMs }: Extract<EngineCommand, { kind: 'readEvents' }>,
  { clock, waiters, shardOf, ask }: AwaitedEventsPorts,
): Promise<EngineAnswer> {
  const { instanceId, deadlineAtMs } = call;
  const leftMs = deadlineAtMs - clock.wallMs() - ANSWERED_BEFORE_MS;
  const endMs = clock.monotonicMs() + Math.min(waitMs, leftMs);
  // Before the first look: what happens after it is not missed.
  using watch = waiters.watch(instanceId, shardOf(instanceId));
  for (;;) {
    const answer = await ask(instanceId, call);
    const restMs = endMs - clock.monotonicMs();
    const isQuiet = (after?.version ?? 0) > 0 && answer.cursor?.version === after?.version;
    if (!isQuiet || restMs <= 0 || !(await watch.change(restMs))) return answer;
  }
}
