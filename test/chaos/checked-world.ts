import { applyEvent } from '#engine/apply-event';
import type { InstanceChange } from '#engine/instance-event';
import { headOf, type InstanceState, instanceFrom } from '#engine/instance-state';
import { StepTimer } from '#engine/step-timer';
import { MODEL_VERSION } from '#identity/state';
import { memoryInstanceStore } from '#storage/memory/memory-instance-store';
import { memoryListingStore } from '#storage/memory/memory-listing-store';
import {
  bodyHashOf,
  type Call,
  CallLog,
  isWrite,
  type Outcome,
  type Requested,
} from '#test/chaos/call-log';
import { ManualClock } from '#test/support/manual-clock';

/** The account of every call here. */
export const ACCOUNT = 'Acc0unt00001';

/** How a call goes. */
type Course = {
  readonly instance?: string;
  readonly key?: string;
  /** What the caller is answered; the truth, unless a test lies. */
  readonly answered?: Outcome;
  /** Whether it happens. */
  readonly happens?: boolean;
};

const STEPS = new StepTimer(new ManualClock(), () => undefined);

/** A service that makes no mistake, in a few lines: for logs and stores that are right, until a test spoils them. */
export class CheckedWorld {
  readonly log = new CallLog();
  readonly instances = memoryInstanceStore();
  readonly listings = memoryListingStore();
  readonly #states = new Map<string, InstanceState>();
  #nowMs = 1_000;

  /** One call to its end; time passes during and after it. */
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
    const state = before === undefined ? instanceFrom(undefined) : structuredClone(before);
    const answer = isWrite(call) ? this.#answer(instance, state, requested, key) : undefined;
    const answered = course.answered ?? answer;
    if (answered === undefined) throw new Error('a read is answered with what it saw');
    if (happens) this.#states.set(instance, state);
    call.tries = 1;
    call.outcome = answered;
    if (isCreate && call.outcome.kind === 'acknowledged') call.instance = instance;
    this.#nowMs += 10;
    call.endMs = call.outcome.kind === 'unknown' ? Number.POSITIVE_INFINITY : this.#nowMs;
    this.#nowMs += 10;
    return call;
  }

  /** Stores everything, as a cluster that stops in good order. */
  async store(): Promise<void> {
    for (const [id, state] of this.#states) {
      const head = headOf(state);
      const { history = [], drift = [], answers = [] } = state.unstored ?? {};
      await this.instances.checkpoint(id, { head, history, drift, answers });
      const { version, name, description, createdAtMs } = head;
      const row = { instanceId: id, version, name, description, createdAtMs };
      if (head.deletedAtMs === undefined) await this.listings.put(ACCOUNT, row);
    }
  }

  #answer(
    id: string,
    state: InstanceState,
    requested: Requested,
    key: string | undefined,
  ): Outcome {
    const answerKey =
      key === undefined
        ? undefined
        : { key: `${requested.kind === 'create' ? 'create' : 'call'}:${key}`, fingerprint: '' };
    const version = (state.head?.version ?? 0) + 1;
    const change = changeOf(requested);
    const event = {
      modelVersion: MODEL_VERSION,
      change,
      atMs: 1_790_000_000_000 + this.#nowMs,
      answerKey,
    };
    applyEvent(id, state, event, version, STEPS);
    const { body = '', etag = '' } = state.answer ?? {};
    state.answer = undefined;
    return { kind: 'acknowledged', etag, bodyHash: bodyHashOf(body), cycle: undefined };
  }
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
      throw new Error('a read changes nothing: give what it saw');
  }
}
