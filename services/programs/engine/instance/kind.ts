import { strict as assert } from 'node:assert';
import type { ActorKind } from '#actor-runtime/actor-kind';
import type { Outbox } from '#actor-runtime/outbox';
import type { Turn } from '#actor-runtime/turn';
import { announcementOf, type Directory } from '#engine/directory/kind';
import { type EventWaiters, eventPage } from '#engine/events/pages';
import * as answers from '#engine/instance/answers';
import { reportOf } from '#engine/instance/answers';
import type { InstanceApplied } from '#engine/instance/apply';
import type { InstanceChange, InstanceEvent } from '#engine/instance/event';
import {
  assertMatch,
  callKeyOf,
  findAnswer,
  nothingToReplay,
  replayOf,
  rowFingerprint,
} from '#engine/instance/keyed-answers';
import { type PastView, pastView } from '#engine/instance/past';
import {
  answerToRepeated,
  type EngineMetrics,
  hasItemKeys,
  type Processing,
  processed,
  replayedItem,
  simulatedAnswer,
} from '#engine/instance/process-call';
import { addedHistory, type ChunkBounds, driftPage, historyPage } from '#engine/instance/rows';
import { InstanceSourcing } from '#engine/instance/sourcing';
import {
  assertKnownModel,
  bytesOf,
  headOf,
  type InstanceState,
  instanceFrom,
  isLive,
  type ModelPorts,
  modelOf,
} from '#engine/instance/state';
import { Fault, faultFor } from '#errors/fault';
import type { ActiveInstance } from '#grpc/admin';
import {
  type EngineAnswer,
  type EngineCall,
  type EngineCommand,
  plainAnswer,
  type TagFields,
  type TrimCommand,
} from '#grpc/engine-messages';
import { firstVersion, MODELS, type Models } from '#identity/model';
import { at, OFFSET } from '#identity/state';
import { CorruptState } from '#storage/ports/bytes';
import {
  ANSWER_AGE_MS,
  type AnswerPosition,
  type AnswerRow,
  type InstanceHead,
  type InstanceStore,
  trimmedOf,
  unpackedState,
} from '#storage/ports/instances';
import { unpackedModel } from '#storage/ports/packed-model';
import { comparePositions } from '#storage/ports/states';

type InstancePorts = {
  readonly store: InstanceStore;
  /** Bounds for moving rows from a head to chunks. Undefined: `CHUNK_BOUNDS`. */
  readonly chunkBounds?: ChunkBounds | undefined;
  /** Models that instances may use. Undefined: all models in this program. */
  readonly models?: Models | undefined;
  readonly directory: Directory;
  readonly metrics: EngineMetrics;
  /** Outbox of the transitions. Undefined: transitions are not recorded. */
  readonly outbox?: Pick<Outbox, 'assertRoom'> | undefined;
  /** Whether all engines can read forked instances. Undefined: always. */
  readonly mayFork?: (() => boolean) | undefined;
  /** Whether all engines can read tags. Undefined: always. */
  readonly mayTag?: (() => boolean) | undefined;
  /** Calls that wait for events. Undefined: no calls wait for events. */
  readonly waiters?: Pick<EventWaiters, 'changed'> | undefined;
};

type InstanceTurn = Turn<InstanceEvent, InstanceApplied>;
type Command<Kind extends EngineCommand['kind']> = Extract<EngineCommand, { kind: Kind }>;

/** Answer of an instance. */
export type InstanceAnswer = EngineAnswer & {
  /** View for a call about the past, which is read after the turn. */
  readonly past?: PastView;
  /** Position of a replayed answer, which is rebuilt after the turn. */
  readonly replayed?: AnswerPosition;
};

/** The instance as a durable actor: executes interface 4 commands on an instance. */
export class InstanceKind
  implements ActorKind<InstanceState, EngineCall, InstanceAnswer, InstanceEvent, InstanceApplied>
{
  readonly name = 'instance';
  readonly sourcing: InstanceSourcing;
  readonly #ports: InstancePorts;
  readonly #model: ModelPorts;
  readonly #processing: Processing<InstanceTurn>;

  constructor(ports: InstancePorts) {
    const { models = MODELS, metrics } = ports;
    this.#ports = ports;
    this.#model = { models, steps: metrics.steps };
    this.#processing = {
      model: this.#model,
      store: ports.store,
      metrics,
      commit: (...committed) => this.#commit(...committed),
    };
    this.sourcing = new InstanceSourcing({ ...ports, model: this.#model });
  }

  async activate(id: string) {
    const head = await this.#ports.store.readHead(id);
    if (head !== undefined) assertKnownModel(this.#model.models, head, id);
    const recentCalls = head?.recentCalls ?? [];
    return { state: instanceFrom(head), version: head?.version ?? 0, recentCalls };
  }

  receive(
    state: InstanceState,
    call: EngineCall,
    turn: InstanceTurn,
  ): InstanceAnswer | Promise<InstanceAnswer> {
    if (call.command.kind !== 'create') this.#assertPresent(state, call, turn);
    if (call.idempotency === undefined) {
      // A repeated batch with item keys is handled after looking up its keys, in `processed`.
      const isRepeated = turn.earlierVersion !== undefined && !hasItemKeys(call.command);
      if (isRepeated) return this.#repeat(state, call, turn);
      return this.#perform(state, call, turn);
    }
    const found = findAnswer(call, rowKeyOf(call), state, turn, this.#ports.store);
    if (!(found instanceof Promise)) return this.#performKeyed(state, call, turn, found);
    return found.then((row) => this.#performKeyed(state, call, turn, row));
  }

  sizeOf(state: InstanceState): number {
    return bytesOf(state);
  }

  isAbsent(state: InstanceState): boolean {
    return state.head === undefined;
  }

  /**
   * Throws `not_found` for a missing, deleted or foreign instance; callers cannot distinguish the
   * three (decision 19). A retried DELETE gets its answer.
   */
  #assertPresent(state: InstanceState, call: EngineCall, turn: InstanceTurn): void {
    if (state.head?.accountId === call.accountId) {
      if (isLive(state)) return;
      if (call.command.kind === 'remove') {
        // Notify the listing again: the first delete may have failed before its notification.
        this.#announce(call, state, turn);
        if (turn.earlierVersion !== undefined) return;
      }
    } else if (state.head !== undefined) {
      // Read a nonexistent instance after the turn, so that foreign and missing instances have
      // equal response times.
      turn.beforeAnswer(async () => void (await this.#ports.store.readHead(`${call.instanceId}?`)));
    }
    throw new Fault('not_found', 'no such instance');
  }

  #performKeyed(
    state: InstanceState,
    call: EngineCall,
    turn: InstanceTurn,
    row: AnswerRow | undefined,
  ) {
    if (row === undefined) {
      const isRepeatedRemoval = call.command.kind === 'remove' && turn.earlierVersion !== undefined;
      return isRepeatedRemoval ? this.#repeat(state, call, turn) : this.#perform(state, call, turn);
    }
    this.#announce(call, state, turn);
    const replayed = replayOf(row, call);
    if (replayed !== undefined) return replayed;
    const { position } = row;
    const { models } = this.#model;
    if (position === undefined) return replayedItem(state, call, models);
    if (isPresent(state, position)) {
      return answers.rebuiltAnswer(call.instanceId, headOf(state), position.version, models);
    }
    return { ...plainAnswer(''), replayed: position };
  }

  #perform(
    state: InstanceState,
    call: EngineCall,
    turn: InstanceTurn,
  ): InstanceAnswer | Promise<InstanceAnswer> {
    const { command, instanceId } = call;
    const { models } = this.#model;
    const isDecidedLater = command.kind === 'create' || hasItemKeys(command);
    if (call.isReplayOnly && !isDecidedLater) throw nothingToReplay();
    switch (command.kind) {
      case 'create':
        return this.#create(state, call, command, turn);
      case 'readInstance':
        return answers.instanceAnswer(instanceId, headOf(state), models);
      case 'rename':
        assertMatch(call, turn.version);
        return this.#rename(call, state, command, turn);
      case 'remove':
        assertMatch(call, turn.version);
        return this.#commitSame(call, state, turn, { kind: 'removed' });
      case 'process':
        return processed(state, call, command, turn, this.#processing);
      case 'simulate':
        return simulatedAnswer(state, { call, command, nowMs: turn.wallMs }, this.#model);
      case 'readSnapshot':
        return answers.snapshotAnswer(instanceId, headOf(state), models);
      case 'readContract':
        return answers.contractAnswer(instanceId, headOf(state), models);
      case 'reset':
        assertMatch(call, turn.version);
        return this.#commitSame(call, state, turn, { kind: 'reset', mode: command.mode });
      case 'trim':
        return this.#trim(call, state, command, turn);
      case 'readHistory':
        return historyPage(instanceId, state, command, this.#ports.store);
      case 'readDrift':
        return driftPage(instanceId, state, command, this.#ports.store);
      case 'readEvents': {
        const { after } = command;
        return eventPage({ instanceId, state, after }, this.#ports.store, models);
      }
      case 'readStates':
      case 'readForkStart':
        return { ...plainAnswer(''), past: pastView(instanceId, state, models) };
      case 'putListingRow':
      case 'removeListingRow':
      case 'reservePlace':
      case 'readSummaries':
      case 'readIndexed':
      case 'readFleet':
      case 'list':
      case 'recordTransitions':
      case 'readFeed':
      case 'webhook':
        throw new Fault('internal', 'a command to an account must not reach an instance');
    }
  }

  #create(
    state: InstanceState,
    call: EngineCall,
    command: Command<'create'>,
    turn: InstanceTurn,
  ): EngineAnswer | Promise<EngineAnswer> {
    const deletedAtMs = state.head?.deletedAtMs;
    if (deletedAtMs !== undefined && turn.wallMs - deletedAtMs < ANSWER_AGE_MS) {
      throw faultFor('deleted', 'the instance this key created was deleted');
    }
    if (!this.isAbsent(state)) {
      throw faultFor('already_exists', 'an instance with this id already exists');
    }
    if (call.isReplayOnly) throw nothingToReplay();
    const { instancesMax } = command;
    const { accountId, instanceId } = call;
    const { change, version } = this.#creation(call, command);
    const create = () => this.#commit(call, turn, change, version).answer;
    if (instancesMax === undefined) return create();
    const { directory } = this.#ports;
    const reserved = directory.reserve(accountId, instanceId, instancesMax, call.traceparent);
    return reserved.then(create);
  }

  /** The change that creates an instance, and its first model. */
  #creation({ accountId, instanceId, modelVersion }: EngineCall, command: Command<'create'>) {
    const { models } = this.#model;
    const { kind: _, instancesMax: __, fork, ...config } = command;
    this.#assertMayTag(command);
    if (fork === undefined) {
      const { version } = modelOf(models, firstVersion(models, modelVersion), instanceId);
      const change: InstanceChange = { kind: 'created', accountId, ...config };
      return { change, version };
    }
    const { start } = fork;
    if (start === undefined) throw new Error('the edge reads the start of a fork');
    assertReadable(this.#ports.mayFork, 'forks');
    const { version, stateLength } = modelOf(models, start.modelVersion, instanceId);
    assert(unpackedState(start.state).length === stateLength, 'a fork has a state of its model');
    const { modeStrengths: ___, energyLevel: ____, ...texts } = config;
    const change: InstanceChange = { kind: 'forked', accountId, ...texts, start };
    return { change, version };
  }

  #rename(
    call: EngineCall,
    state: InstanceState,
    { kind: _, ...texts }: Command<'rename'>,
    turn: InstanceTurn,
  ): EngineAnswer {
    this.#assertMayTag(texts);
    return this.#commitSame(call, state, turn, { kind: 'renamed', ...texts });
  }

  #assertMayTag({ tagsJson }: TagFields): void {
    if (tagsJson !== undefined) assertReadable(this.#ports.mayTag, 'tags');
  }

  /** Raises the floor. Idempotent, because the floor never falls. */
  #trim(
    call: EngineCall,
    state: InstanceState,
    { kind: _, ...floor }: TrimCommand,
    turn: InstanceTurn,
  ): EngineAnswer {
    const head = headOf(state);
    const present = trimmedOf(head);
    if (floor.history <= present.history) return answers.trimmedAnswer(present, false);
    const isThere = floor.history <= head.historyCount && floor.drift <= head.driftCount;
    if (!isThere || floor.drift < present.drift) {
      throw new Fault('conflict', 'the floor does not match the rows of the instance');
    }
    // The plan of the trim reads stored answers only. A replay of an answer needs the rows between
    // a known state and its position. A floor before a reset may have a state of another model.
    const isNeeded = (position: AnswerPosition) =>
      comparePositions(position, floor) <= 0 ||
      (position.generation === floor.generation && floor.generation < head.generation);
    const unstored = state.unstored?.answers ?? [];
    if (unstored.some(({ position }) => position !== undefined && isNeeded(position))) {
      throw new Fault('conflict', 'answers that are not stored yet need the rows; trim later');
    }
    return this.#commitSame(call, state, turn, { kind: 'trimmed', floor });
  }

  /** Commits a change without a cycle. The model version stays the same. */
  #commitSame(
    call: EngineCall,
    state: InstanceState,
    turn: InstanceTurn,
    change: InstanceChange,
  ): EngineAnswer {
    return this.#commit(call, turn, change, headOf(state).modelVersion).answer;
  }

  #commit(
    call: EngineCall,
    turn: InstanceTurn,
    change: InstanceChange,
    modelVersion: string,
  ): InstanceApplied {
    const { idempotency } = call;
    // A deletion needs no room, so that an account can be deleted during an outage of its feed.
    if (change.kind !== 'removed') this.#ports.outbox?.assertRoom(call.accountId);
    const answerKey =
      idempotency === undefined
        ? undefined
        : {
            key: rowKeyOf(call),
            fingerprint: rowFingerprint(idempotency.fingerprint, change, modelVersion),
          };
    const applied = turn.commit({ modelVersion, change, atMs: turn.wallMs, answerKey });
    this.#announce(call, applied.state, turn);
    this.#ports.waiters?.changed(call.instanceId);
    return applied;
  }

  /**
   * Delays the answer to a create, rename or delete until the listing has the change. Repeated
   * calls wait too (architecture 3.6).
   */
  #announce(call: EngineCall, state: InstanceState, turn: InstanceTurn): void {
    const { instanceId, command, traceparent } = call;
    const { kind } = command;
    if (kind !== 'create' && kind !== 'rename' && kind !== 'remove') return;
    const { directory } = this.#ports;
    turn.beforeAnswer(announcementOf(instanceId, headOf(state), directory, traceparent));
  }

  #repeat(state: InstanceState, call: EngineCall, turn: InstanceTurn): EngineAnswer {
    this.#announce(call, state, turn);
    return answerToRepeated(call, state, turn, this.#model);
  }
}

/** Whether an instance has not observed anything since a position. */
function isPresent(state: InstanceState, { generation, cycle }: AnswerPosition): boolean {
  const head = headOf(state);
  return head.generation === generation && at(unpackedModel(head.model), OFFSET.cycle) === cycle;
}

/** Throws `upgrade_in_progress` if an engine could take over the change and not read it. */
function assertReadable(isReadable: (() => boolean) | undefined, what: string): void {
  if (isReadable === undefined || isReadable()) return;
  const text = `some engines run an earlier release, which cannot read ${what}; retry later`;
  throw faultFor('upgrade_in_progress', text, { retryAfterS: 60 });
}

/**
 * Name of a call's answer row. A create's key is scoped to the account, every other key to the
 * instance (decision 22).
 */
function rowKeyOf(call: EngineCall): string {
  const key = call.idempotency?.key ?? '';
  return call.command.kind === 'create' ? `create:${key}` : callKeyOf(key);
}

/** Maximum number of unstored cycles in the operator's view. */
const UNSTORED_SHOWN = 10;

/** Operator's view: an instance in memory; undefined if the instance was never created. */
export function activeInstanceOf(
  instanceId: string,
  { head, unstored }: InstanceState,
  models: Models,
): ActiveInstance | undefined {
  if (head === undefined) return undefined;
  const { version, generation, deletedAtMs } = head;
  const shown = (unstored?.history ?? []).slice(-UNSTORED_SHOWN);
  const unstoredCycles = addedHistory(instanceId, shown, head.historyCount - shown.length)
    .slice(0, shown.length)
    .reverse()
    .map(({ contextJson: _, ordinal: __, ...cycle }) => cycle);
  const isLive = deletedAtMs === undefined;
  const cycle = isLive ? reportOf(instanceId, head, models).snapshot.cycle : 0;
  return { version, generation, cycle, unstoredCycles };
}

/**
 * Reads stored heads for pages with several instances. Reports a damaged head, or a head with an
 * unknown model, to `onBug` and treats the instance as missing, so that the page shows the other
 * instances. A call to the instance itself gets 500.
 */
export function storedHeadOf(
  instances: Pick<InstanceStore, 'readHead'>,
  models: Models,
  onBug: (error: unknown) => void,
): (instanceId: string) => Promise<InstanceHead | undefined> {
  return async (instanceId) => {
    try {
      const head = await instances.readHead(instanceId);
      if (head !== undefined) assertKnownModel(models, head, instanceId);
      return head;
    } catch (error) {
      if (!(error instanceof CorruptState)) throw error;
      onBug(error);
      return undefined;
    }
  };
}
