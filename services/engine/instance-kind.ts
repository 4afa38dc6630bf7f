import { applyOperation } from '#engine/apply-operation';
import type { Directory } from '#engine/directory';
import type { EngineMetrics } from '#engine/engine-metrics';
import { etagOf, isMatched } from '#engine/etag';
import * as answers from '#engine/instance-answers';
import type { InstanceOperation } from '#engine/instance-operation';
import {
  absentInstance,
  bytesOf,
  headOf,
  type InstanceState,
  instanceFrom,
} from '#engine/instance-state';
import { ANSWER_AGE_MS, findAnswer, nothingToReplay, replayOf } from '#engine/keyed-answers';
import { observedOperation } from '#engine/observe';
import { driftPage, historyPage } from '#engine/record-pages';
import { Fault } from '#fault/fault';
import type { ActorKind, Checkpoint } from '#runtime/actor-kind';
import type { Turn } from '#runtime/turn';
import type { AnswerRow, InstanceStore } from '#storage/instance-store';
import type { EngineAnswer, EngineCall, EngineOperation } from '#wire/engine-messages';

/** What instances need besides the runtime. */
export type InstancePorts = {
  readonly store: InstanceStore;
  readonly directory: Directory;
  readonly metrics: EngineMetrics;
};

type InstanceTurn = Turn<InstanceOperation>;
type Operation<Kind extends EngineOperation['kind']> = Extract<EngineOperation, { kind: Kind }>;

/** The instance as a kind of durable actor: the operations of spec 4 on one instance. */
export class InstanceKind
  implements ActorKind<InstanceState, EngineCall, EngineAnswer, InstanceOperation>
{
  readonly name = 'instance';
  readonly #ports: InstancePorts;

  constructor(ports: InstancePorts) {
    this.#ports = ports;
  }

  async activate(id: string) {
    const head = await this.#ports.store.readHead(id);
    if (head === undefined) return { state: absentInstance(), version: 0 };
    return { state: instanceFrom(head), version: head.version };
  }

  receive(state: InstanceState, call: EngineCall, turn: InstanceTurn) {
    if (call.operation.kind !== 'create') assertPresent(state, call, turn);
    if (call.idempotency === undefined) {
      if (turn.earlierVersion !== undefined) return this.#repeat(state, call, turn);
      return this.#perform(state, call, turn);
    }
    const found = findAnswer(call, rowKeyOf(call), state, turn.nowMs, this.#ports.store);
    if (!(found instanceof Promise)) return this.#performKeyed(state, call, turn, found);
    return found.then((row) => this.#performKeyed(state, call, turn, row));
  }

  apply(state: InstanceState, operation: InstanceOperation, version: number, id: string): void {
    applyOperation(id, state, operation, version);
  }

  checkpoint(id: string, state: InstanceState, version: number): Checkpoint {
    const head = headOf(state, version);
    const copy = { ...head, model: head.model.slice() };
    const { history, drift, answers: rows } = state;
    const taken = { history: history.slice(), drift: drift.slice(), answers: rows.slice() };
    return {
      write: () => this.#ports.store.checkpoint(id, { head: copy, ...taken }),
      forget: () => {
        // Deletion may have emptied the lists meanwhile; then there is nothing left to forget.
        if (state.history[0] === taken.history[0]) state.history.splice(0, taken.history.length);
        if (state.drift[0] === taken.drift[0]) state.drift.splice(0, taken.drift.length);
        if (state.answers[0] === taken.answers[0]) state.answers.splice(0, taken.answers.length);
      },
    };
  }

  sizeOf(state: InstanceState): number {
    return bytesOf(state);
  }

  isAbsent(state: InstanceState): boolean {
    return !state.isLive && state.deletedAtMs === undefined;
  }

  isEvictable(): boolean {
    return true;
  }

  #performKeyed(
    state: InstanceState,
    call: EngineCall,
    turn: InstanceTurn,
    row: AnswerRow | undefined,
  ) {
    if (row === undefined) return this.#perform(state, call, turn);
    this.#announce(call, state, turn);
    return replayOf(row, call.idempotency?.fingerprint ?? '');
  }

  #perform(
    state: InstanceState,
    call: EngineCall,
    turn: InstanceTurn,
  ): EngineAnswer | Promise<EngineAnswer> {
    const { operation, instanceId } = call;
    if (call.isReplayOnly) throw nothingToReplay();
    switch (operation.kind) {
      case 'create':
        return this.#create(state, call, operation, turn);
      case 'readInstance':
        return answers.instanceAnswer(instanceId, state, turn.version);
      case 'rename':
        assertMatch(call, turn);
        return this.#commit(state, call, turn, {
          kind: 'renamed',
          name: operation.name,
          description: operation.description,
        });
      case 'remove':
        assertMatch(call, turn);
        return this.#commit(state, call, turn, { kind: 'removed' });
      case 'process':
        return this.#process(state, call, operation, turn);
      case 'readSnapshot':
        return answers.snapshotAnswer(instanceId, state, turn.version);
      case 'readContract':
        return answers.contractAnswer(instanceId, state, turn.version);
      case 'reset':
        assertMatch(call, turn);
        return this.#commit(state, call, turn, { kind: 'reset', mode: operation.mode });
      case 'readHistory':
        return historyPage(instanceId, state, operation, this.#ports.store);
      case 'readDrift':
        return driftPage(instanceId, state, operation, this.#ports.store);
      case 'list':
        throw new Fault('internal', 'a listing is not an instance');
    }
  }

  #create(
    state: InstanceState,
    call: EngineCall,
    operation: Operation<'create'>,
    turn: InstanceTurn,
  ): EngineAnswer {
    if (state.deletedAtMs !== undefined && turn.nowMs - state.deletedAtMs < ANSWER_AGE_MS) {
      throw new Fault('conflict', 'the instance this key created was deleted', {
        reason: 'deleted',
      });
    }
    if (!this.isAbsent(state)) {
      throw new Fault('conflict', 'there is an instance of this id', { reason: 'already_exists' });
    }
    const { name, description, modeStrengths, energyLevel } = operation;
    const config = { name, description, modeStrengths, energyLevel };
    const { accountId } = call;
    return this.#commit(state, call, turn, { kind: 'created', accountId, ...config });
  }

  #process(
    state: InstanceState,
    call: EngineCall,
    operation: Operation<'process'>,
    turn: InstanceTurn,
  ): EngineAnswer {
    const observed = observedOperation(state, operation, turn);
    if (observed.kind === 'throttled') {
      this.#ports.metrics.throttled();
      const { retryAfterS } = observed;
      return answers.throttledAnswer(call.instanceId, state, turn.version, operation, retryAfterS);
    }
    const driftBefore = state.driftCount;
    const answer = this.#commit(state, call, turn, observed);
    this.#ports.metrics.cycled(answer.cycles, state.drift, state.driftCount - driftBefore);
    return answer;
  }

  #commit(
    state: InstanceState,
    call: EngineCall,
    turn: InstanceTurn,
    change: WithoutCommon<InstanceOperation>,
  ): EngineAnswer {
    const { idempotency } = call;
    const answerKey =
      idempotency === undefined
        ? undefined
        : { key: rowKeyOf(call), fingerprint: idempotency.fingerprint };
    const common = { atMs: turn.nowMs, monotonicMs: turn.monotonicMs, answerKey };
    turn.commit({ ...change, ...common } as InstanceOperation);
    this.#announce(call, state, turn);
    return takeAnswer(state);
  }

  /**
   * A create, rename or delete is answered, first time or again, only when the listing knows of it
   * (architecture 3.6).
   */
  #announce({ instanceId, operation }: EngineCall, state: InstanceState, turn: InstanceTurn): void {
    const { kind } = operation;
    if (kind !== 'create' && kind !== 'rename' && kind !== 'remove') return;
    const { accountId, name, description, createdAtMs, isLive } = state;
    const row = { instanceId, version: turn.version, name, description, createdAtMs };
    turn.beforeAnswer(() =>
      isLive
        ? this.#ports.directory.put(accountId, row)
        : this.#ports.directory.remove(accountId, instanceId, row.version),
    );
  }

  /** The same call once more: its answer again, as long as nothing has happened since. */
  #repeat(state: InstanceState, call: EngineCall, turn: InstanceTurn): EngineAnswer {
    const { operation, instanceId } = call;
    this.#announce(call, state, turn);
    if (turn.earlierVersion !== turn.version) {
      throw new Fault('conflict', 'done before, and the instance has moved on since', {
        reason: 'superseded',
      });
    }
    return answers.answerAgain(instanceId, state, operation, turn.version);
  }
}

type WithoutCommon<Change> = Change extends unknown
  ? Omit<Change, 'atMs' | 'monotonicMs' | 'answerKey'>
  : never;

function takeAnswer(state: InstanceState): EngineAnswer {
  const { answer } = state;
  state.answer = undefined;
  if (answer === undefined) throw new Error('an applied operation leaves an answer');
  return answer;
}

/** A create's key is scoped to the account, any other to the instance (decision 22). */
function rowKeyOf(call: EngineCall): string {
  const family = call.operation.kind === 'create' ? 'create' : 'call';
  return `${family}:${call.idempotency?.key ?? ''}`;
}

/** Another account's instance looks exactly like none (decision 19). A retried DELETE is answered. */
function assertPresent(state: InstanceState, call: EngineCall, turn: InstanceTurn): void {
  const isOwned = state.accountId === call.accountId;
  if (isOwned && state.isLive) return;
  if (isOwned && call.operation.kind === 'remove' && turn.earlierVersion !== undefined) return;
  throw new Fault('not_found', 'no such instance');
}

function assertMatch({ ifMatch, instanceId }: EngineCall, turn: InstanceTurn): void {
  if (ifMatch === undefined || isMatched(ifMatch, etagOf(instanceId, turn.version))) return;
  throw new Fault('conflict', 'the instance has changed since this ETag', {
    reason: 'version_mismatch',
    field: 'If-Match',
  });
}
