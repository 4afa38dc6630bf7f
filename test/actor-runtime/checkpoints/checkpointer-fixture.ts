import { Activation } from '#actor-runtime/activation';
import { ONE_SHARD } from '#actor-runtime/actor-host';
import { Checkpointer } from '#actor-runtime/checkpointer';
import { CommitLog } from '#actor-runtime/commit-log';
import type { ActorHostConfig } from '#actor-runtime/host-ports';
import type { Outbox } from '#actor-runtime/outbox';
import { runtimeMetrics } from '#actor-runtime/runtime-metrics';
import { memoryJournal } from '#storage/memory/meters';
import type { Journal } from '#storage/ports/journal';
import { createMetrics } from '#telemetry/metrics';
import { lineOf } from '#test/actor-runtime/commit-log/journal-records';
import { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';
import { type Tally, type TallyAnswer, type TallyCall, TallyKind } from '#test/support/tally-actor';

/** A kind whose writes end when the test decides. */
class HeldTallyKind extends TallyKind {
  readonly held: {
    readonly id: string;
    /** Ids of all actors in the write. */
    readonly ids: readonly string[];
    readonly end: (failure?: Error) => void;
  }[] = [];

  override async store(copies: Parameters<TallyKind['store']>[0]): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const end = (failure?: Error) => (failure === undefined ? resolve() : reject(failure));
    const ids = copies.map(({ id }) => id);
    this.held.push({ id: ids[0] ?? '', ids, end });
    await promise;
    await super.store(copies);
  }
}

/** A checkpointer, with functions that create actors and commit records like a turn. */
export function newScene({
  kind = new TallyKind(),
  journal = memoryJournal() as Journal,
  config = {} as Pick<ActorHostConfig, 'earlyRowsBytesMax'>,
  outbox = undefined as Pick<Outbox, 'has' | 'whenSent'> | undefined,
} = {}) {
  const clock = new ManualClock();
  const registry = createMetrics();
  const metrics = runtimeMetrics(registry, 'engine', 'instance');
  const log = new CommitLog(journal, clock);
  const sending = { outbox: outbox as Outbox | undefined };
  const ports = { clock, log, gate: ONE_SHARD, metrics, onBug: () => undefined, ...sending };
  const checkpointer = new Checkpointer(kind, ports, undefined, config);
  const actorOf = (id: string, shard = 0) => {
    const activation = new Activation<Tally, TallyCall, TallyAnswer>(id, shard, 0);
    activation.state = { sum: 0, unstored: [] };
    activation.isBusy = false;
    return activation;
  };
  /** Commits one record of an actor, like a turn. */
  const commitOne = (activation: ReturnType<typeof actorOf>): void => {
    if (activation.state !== undefined) kind.apply(activation.state, 1);
    activation.version += 1;
    const { id, version } = activation;
    activation.offset = log.add(lineOf({ actorId: id, version }));
    checkpointer.dirty.changed(activation, clock.monotonicMs());
  };
  /** Commits one record for each actor, in this order. */
  const commit = (...activations: ReturnType<typeof actorOf>[]): void => {
    for (const activation of activations) commitOne(activation);
  };
  return { clock, log, kind, checkpointer, actorOf, commit, registry };
}

/** Like `newScene`, with writes that end when the test decides. */
export function heldScene() {
  const kind = new HeldTallyKind();
  return { ...newScene({ kind }), kind };
}

/** Bucket of an actor: the first letter of its id. */
export const byLetter = (id: string): number => id.charCodeAt(0);

/** Like `heldScene`, with one actor for each id. The actors commit a millisecond apart. */
export function batchScene(...ids: readonly string[]) {
  const scene = heldScene();
  scene.kind.bucketOf = byLetter;
  const actors = ids.map((id) => {
    const actor = scene.actorOf(id);
    scene.commit(actor);
    scene.clock.advance(1);
    return actor;
  });
  const due = async (): Promise<void> => {
    scene.checkpointer.startDue(scene.clock.monotonicMs());
    await turnOfEvents();
  };
  const written = () => scene.kind.held.map(({ ids }) => ids.join(' '));
  const end = async (failure?: Error): Promise<void> => {
    scene.kind.held.shift()?.end(failure);
    await turnOfEvents();
  };
  const isDirty = () =>
    actors.map((actor) => scene.checkpointer.dirty.stateOf(actor) !== undefined);
  return { ...scene, actors, due, written, end, isDirty };
}
