import { createMetrics } from '#platform/metrics';
import { Activation } from '#runtime/activation';
import { Checkpointer } from '#runtime/checkpointer';
import { CommitLog } from '#runtime/commit-log';
import { runtimeMetrics } from '#runtime/runtime-metrics';
import { ONE_SHARD } from '#runtime/shard-gate';
import type { Journal } from '#storage/journal';
import { memoryJournal } from '#storage/memory/memory-journal';
import { lineOf } from '#test/runtime/journal-records';
import { ManualClock } from '#test/support/manual-clock';
import { type Tally, type TallyAnswer, type TallyCall, TallyKind } from '#test/support/tally-actor';

/** A kind whose writes end when the test says so. */
class HeldTallyKind extends TallyKind {
  readonly held: { readonly id: string; readonly end: (failure?: Error) => void }[] = [];

  override checkpoint(...given: Parameters<TallyKind['checkpoint']>) {
    const checkpoint = super.checkpoint(...given);
    const write = async (): Promise<void> => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const end = (failure?: Error) => (failure === undefined ? resolve() : reject(failure));
      this.held.push({ id: given[0], end });
      await promise;
      await checkpoint.write();
    };
    return { ...checkpoint, write };
  }
}

/** A checkpointer, and actors that commit as a turn does. */
export function newScene({ kind = new TallyKind(), journal = memoryJournal() as Journal } = {}) {
  const clock = new ManualClock();
  const registry = createMetrics();
  const metrics = runtimeMetrics(registry, 'engine', 'instance');
  const log = new CommitLog(journal, clock);
  const ports = { clock, log, gate: ONE_SHARD, metrics, onBug: () => undefined };
  const checkpointer = new Checkpointer(kind, ports);
  const actorOf = (id: string, shard = 0) => {
    const activation = new Activation<Tally, TallyCall, TallyAnswer>(id, shard, 0);
    activation.state = { sum: 0, unstored: [] };
    activation.isBusy = false;
    return activation;
  };
  /** What a turn's commit does. */
  const commitOne = (activation: ReturnType<typeof actorOf>): void => {
    if (activation.state !== undefined) kind.apply(activation.state, 1);
    activation.version += 1;
    const { id, version } = activation;
    activation.offset = log.add(lineOf({ actorId: id, version }));
    checkpointer.dirty.changed(activation, clock.monotonicMs());
  };
  /** One commit by each of these actors, in this order. */
  const commit = (...activations: ReturnType<typeof actorOf>[]): void => {
    for (const activation of activations) commitOne(activation);
  };
  return { clock, log, kind, checkpointer, actorOf, commit, registry };
}

/** The same, with writes that end when the test says so. */
export function heldScene() {
  const kind = new HeldTallyKind();
  return { ...newScene({ kind }), kind };
}
