import { applyEvent } from '#engine/instance/apply';
import type { InstanceChange } from '#engine/instance/event';
import { addedHistory } from '#engine/instance/rows';
import { InstanceSourcing } from '#engine/instance/sourcing';
import {
  headOf,
  type InstanceState,
  instanceFrom,
  StepTimer,
  UnstoredRows,
} from '#engine/instance/state';
import { MODELS } from '#identity/model';
import { memoryInstanceStore, memoryListingStore } from '#storage/memory/instances';
import { packedHead } from '#storage/ports/instances';
import {
  bodyHashOf,
  type Call,
  CallLog,
  isWrite,
  type Outcome,
  type Requested,
} from '#test/chaos/load/call-log';
import { ManualClock } from '#test/support/manual-clock';

/** Account that makes all calls. */
export const ACCOUNT = 'Acc0unt00001';

/** Options of a call. Without options, the call is applied and answered correctly. */
type Course = {
  readonly instance?: string;
  readonly key?: string;
  /** Answer to the caller; the correct answer by default. */
  readonly answered?: Outcome;
  /** Whether the call is applied; true by default. */
  readonly happens?: boolean;
};

const MODEL = { models: MODELS, steps: new StepTimer(new ManualClock(), () => undefined) };

const none = async (): Promise<void> => undefined;

/**
 * A small model of a correct service. The call log and the stores of the model are consistent until
 * a test corrupts them.
 */
export class CheckedWorld {
  readonly log = new CallLog();
  readonly instances = memoryInstanceStore();
  readonly listings = memoryListingStore();
  readonly #sourcing = new InstanceSourcing({
    store: this.instances,
    directory: { put: none, remove: none, reserve: none },
    model: MODEL,
  });
  readonly #states = new Map<string, InstanceState>();
  #nowMs = 1_000;

  /** Makes one call. Time advances by 10 ms during the call and by 10 ms after it. */
  call(requested: Requested, course: Course = {}): Call {
    const { key, happens = true } = course;
    const { instance = `inst_${this.log.nextId.toString(16).padStart(16, '0')}` } = course;
    const isCreate = requested.kind === 'create';
    const [dueMs, startMs] = [this.#nowMs, this.#nowMs];
    const call = this.log.begin({
      requested,
      accountId: ACCOUNT,
      instance: isCreate ? '' : instance,
      key,
      dueMs,
      startMs,
    });
    const before = this.#states.get(instance);
    const state = before === undefined ? instanceFrom(undefined) : copyOf(instance, before);
    const applied = isWrite(call) ? this.#apply(instance, state, requested, key) : undefined;
    const answered = course.answered ?? applied?.outcome;
    if (answered === undefined) throw new Error('a read needs `answered`: the outcome to log');
    if (happens) this.#states.set(instance, applied?.state ?? state);
    call.tries = 1;
    call.outcome = answered;
    if (isCreate && call.outcome.kind === 'acknowledged') call.instance = instance;
    this.#nowMs += 10;
    call.endMs = call.outcome.kind === 'unknown' ? Number.POSITIVE_INFINITY : this.#nowMs;
    this.#nowMs += 10;
    return call;
  }

  /** Stores all instances, like a clean stop of a cluster. */
  async store(): Promise<void> {
    for (const [id, state] of this.#states) {
      const head = headOf(state);
      await this.#sourcing.store([this.#sourcing.checkpoint(id, state, []).copy]);
      const { version, name, description, createdAtMs } = head;
      const row = { instanceId: id, version, name, description, createdAtMs };
      if (head.deletedAtMs === undefined) await this.listings.put(ACCOUNT, row);
    }
  }

  #apply(id: string, before: InstanceState, requested: Requested, key: string | undefined) {
    const answerKey =
      key === undefined
        ? undefined
        : { key: `${requested.kind === 'create' ? 'create' : 'call'}:${key}`, fingerprint: '' };
    const version = (before.head?.version ?? 0) + 1;
    const change = changeOf(requested);
    const event = {
      modelVersion: MODELS.newest.version,
      change,
      atMs: 1_790_000_000_000 + this.#nowMs,
      answerKey,
    };
    const { state, answer } = applyEvent(id, before, event, version, MODEL);
    const { body, etag } = answer;
    const bodyHash = bodyHashOf(body);
    const outcome: Outcome = { kind: 'acknowledged', etag, bodyHash, cycle: undefined };
    return { state, outcome };
  }
}

/** Copies the mutable parts of an instance. */
function copyOf(id: string, state: InstanceState): InstanceState {
  const unstored = new UnstoredRows();
  const history = state.unstored?.history ?? [];
  const stored = (state.head?.historyCount ?? 0) - history.length;
  for (const row of addedHistory(id, history, stored).slice(0, history.length)) {
    unstored.addHistory(row);
  }
  for (const row of state.unstored?.drift ?? []) unstored.addDrift(row);
  for (const row of state.unstored?.states ?? []) unstored.addState(row);
  for (const row of state.unstored?.answers ?? []) unstored.addAnswer(row);
  return { ...state, head: state.head && packedHead(state.head), unstored };
}

function changeOf(requested: Requested): InstanceChange {
  switch (requested.kind) {
    case 'create': {
      const { name, modeStrengths, energyLevel } = requested;
      return {
        kind: 'created',
        accountId: ACCOUNT,
        name,
        description: '',
        modeStrengths,
        energyLevel,
      };
    }
    case 'process': {
      const observations = requested.observations.map(({ mark, ...rest }) => ({
        ...rest,
        contextJson: JSON.stringify({ mark }),
      }));
      const { isBatch, isEveryStateWanted } = requested;
      return { kind: 'observed', observations, isBatch, isEveryStateWanted };
    }
    case 'reset':
      return { kind: 'reset', mode: requested.mode };
    case 'rename':
      return { kind: 'renamed', name: requested.name, description: undefined };
    case 'remove':
      return { kind: 'removed' };
    case 'read':
      throw new Error('a read changes nothing');
  }
}
