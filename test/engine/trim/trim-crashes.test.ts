import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Checkpoint } from '#actor-runtime/event-sourcing';
import type { InstanceChange, InstanceEvent } from '#engine/instance/event';
import { type ChunkBounds, driftPage, historyPage } from '#engine/instance/rows';
import { InstanceSourcing } from '#engine/instance/sourcing';
import { headOf, type InstanceState, instanceFrom, StepTimer } from '#engine/instance/state';
import { MODELS } from '#identity/model';
import type { InstanceCheckpoint, InstanceStore } from '#storage/ports/instances';
import {
  ANCHORED,
  bodyOf,
  chunksOfRows,
  START_MS,
  seen,
} from '#test/engine/instance/instance-fixture';
import { TableStore } from '#test/engine/table-store';
import { isUpTo, type ShownRow, trimOf } from '#test/engine/trim/trim-fixture';
import { ManualClock } from '#test/support/manual-clock';

const ID = 'inst_00000000000000aa';

/** Events of an instance and its node. */
type Step =
  | { readonly kind: 'observe'; readonly count: number }
  | { readonly kind: 'reset'; readonly mode: 'initial' | 'default' }
  /** Trims this share of the present observations, in thousandths. */
  | { readonly kind: 'trim'; readonly thousandths: number }
  /**
   * Starts a checkpoint and executes `writes` writes. The next write is late, and all other writes
   * are lost.
   */
  | { readonly kind: 'checkpoint'; readonly writes: number }
  /**
   * Confirms the last checkpoint as stored. Other events may have happened since this checkpoint.
   */
  | { readonly kind: 'stored' }
  /** The node fails. A node with other bounds continues from the stored head and the journal. */
  | { readonly kind: 'crash'; readonly bounds: ChunkBounds }
  /** A late write arrives. */
  | { readonly kind: 'arrive'; readonly place: number };

const bounds = fc
  .tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 6 }))
  .map(([history, drift]) => chunksOfRows(history, drift));
const ALL = 1_000;
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('observe' as const),
      count: fc.integer({ min: 1, max: 9 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('reset' as const),
      mode: fc.constantFrom('initial' as const, 'default' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('trim' as const),
      thousandths: fc.integer({ min: 0, max: 1_000 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('checkpoint' as const),
      writes: fc.oneof(fc.nat(4), fc.constant(ALL)),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ kind: 'stored' as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const), bounds }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('arrive' as const), place: fc.nat(3) }),
  },
);

/** An instance that successive nodes own. Only trims delete its rows. */
class CrashingInstance {
  readonly #tables = new TableStore();
  /** All events, as in the journal. */
  readonly #journal: string[] = [];
  #sourcing: InstanceSourcing;
  #state: InstanceState = instanceFrom(undefined);
  #copy: Checkpoint<InstanceState, InstanceCheckpoint> | undefined;

  constructor(first: ChunkBounds) {
    this.#sourcing = sourcingOf(this.#tables, first);
    const { kind: _, ...config } = ANCHORED;
    this.commit({ kind: 'created', accountId: 'Acc0unt00001', ...config });
  }

  commit(change: InstanceChange): void {
    const event: InstanceEvent = {
      modelVersion: MODELS.newest.version,
      change,
      atMs: START_MS + this.#journal.length,
      answerKey: undefined,
    };
    this.#journal.push(JSON.stringify(this.#sourcing.recordOf(event)));
    this.#apply(event);
  }

  get count(): number {
    return headOf(this.#state).historyCount;
  }

  get floor(): number {
    return headOf(this.#state).floor?.history ?? 0;
  }

  checkpoint(writes: number): void {
    this.#copy = undefined;
    const checkpoint = this.#sourcing.checkpoint(ID, this.#state, []);
    if (this.#tables.begin(checkpoint.copy, writes)) this.#copy = checkpoint;
  }

  stored(): void {
    this.#copy?.forget(this.#state);
    this.#copy = undefined;
  }

  arrive(place: number): void {
    this.#tables.arrive(place);
  }

  async crash(next: ChunkBounds): Promise<void> {
    this.#sourcing = sourcingOf(this.#tables, next);
    this.#copy = undefined;
    const head = await this.#tables.readHead(ID);
    this.#state = instanceFrom(head);
    const missing = this.#journal.slice(head?.version ?? 0);
    const events = missing.map((line) => this.#sourcing.read(JSON.parse(line)));
    this.#state = this.#sourcing.beforeReplay(this.#state, events);
    for (const [index, event] of events.entries()) {
      this.#apply(event, (head?.version ?? 0) + index + 1);
    }
  }

  /** All visible rows, newest first. */
  async shown(): Promise<{ history: ShownRow[]; drift: ShownRow[] }> {
    const page = { limit: 1_000, offset: 0, isEveryGeneration: true, isPaged: true };
    const history = await historyPage(ID, this.#state, page, this.#tables);
    const drift = await driftPage(ID, this.#state, page, this.#tables);
    const [ofHistory, ofDrift] = [bodyOf(history), bodyOf(drift)];
    assert.is(ofHistory.pagination.total, ofHistory.data.length);
    assert.is(ofDrift.pagination.total, ofDrift.data.length);
    return { history: ofHistory.data, drift: ofDrift.data };
  }

  /** Ordinals of stored observations, in head and chunks. */
  get kept(): number[] {
    return this.#tables.ordinals(ID);
  }

  #apply(event: InstanceEvent, version = this.#journal.length): void {
    this.#state = this.#sourcing.apply(this.#state, event, version, ID).state;
  }
}

function sourcingOf(store: InstanceStore, chunkBounds: ChunkBounds): InstanceSourcing {
  const steps = new StepTimer(new ManualClock(START_MS), () => undefined);
  const none = async (): Promise<void> => undefined;
  const directory = { put: none, remove: none, reserve: none };
  return new InstanceSourcing({ store, chunkBounds, directory, model: { models: MODELS, steps } });
}

/** Observation `n`, which pushes the identity away from its home. */
function nth(n: number): InstanceChange {
  const observation = seen({ mode: n % 2 === 0 ? 1 : 3, signal: 1 });
  const observations = [{ ...observation, timestampMs: START_MS + n * 2_000 }];
  return { kind: 'observed', observations, isBatch: false, isEveryStateWanted: false };
}

/** Two instances with the same events. Only `trimmed` is trimmed, stored and taken over. */
class TwoInstances {
  readonly trimmed: CrashingInstance;
  readonly #whole = new CrashingInstance(chunksOfRows(32, 8));

  constructor(first: ChunkBounds) {
    this.trimmed = new CrashingInstance(first);
  }

  async take(step: Step): Promise<void> {
    const { trimmed } = this;
    switch (step.kind) {
      case 'observe':
        for (let n = 1; n <= step.count; n += 1) this.#both(nth(this.#whole.count + 1));
        return;
      case 'reset':
        this.#both(step);
        return;
      case 'trim':
        return await this.#trim(step.thousandths);
      case 'checkpoint':
        return trimmed.checkpoint(step.writes);
      case 'stored':
        return trimmed.stored();
      case 'crash':
        return await trimmed.crash(step.bounds);
      case 'arrive':
        return trimmed.arrive(step.place);
    }
  }

  /**
   * Asserts that the trimmed instance shows exactly the rows of the untrimmed instance above the
   * floor.
   */
  async compare(): Promise<void> {
    const { history, drift } = await this.#whole.shown();
    const { floor } = this.trimmed;
    const last = history.at(-floor);
    const above = (row: ShownRow) => floor === 0 || last === undefined || !isUpTo(row, last);
    const expected = { history: history.filter(above), drift: drift.filter(above) };
    assert.is(expected.history.length, history.length - floor);
    assert.equal(await this.trimmed.shown(), expected);
  }

  async #trim(thousandths: number): Promise<void> {
    const { history, drift } = await this.#whole.shown();
    const { floor } = this.trimmed;
    const count = floor + Math.floor(((history.length - floor) * thousandths) / 1_000);
    if (count === floor) return;
    const { kind: _, ...next } = trimOf(history.reverse(), drift.reverse(), count);
    this.trimmed.commit({ kind: 'trimmed', floor: next });
  }

  #both(change: InstanceChange): void {
    this.trimmed.commit(change);
    this.#whole.commit(change);
  }
}

const crashes = suite('whenever an instance is trimmed, stored and taken over');

crashes(
  'the instance shows exactly the rows of an untrimmed instance above the floor',
  async () => {
    const property = fc.asyncProperty(
      bounds,
      fc.array(step, { maxLength: 40, size: 'max' }),
      async (first, steps) => {
        const two = new TwoInstances(first);
        for (const one of steps) {
          await two.take(one);
          await two.compare();
        }
        // After any executed, lost or late writes, the next trim leaves no row below the floor.
        for (let late = 0; late < steps.length; late += 1) two.trimmed.arrive(0);
        await two.take({ kind: 'trim', thousandths: 500 });
        await two.take({ kind: 'observe', count: 2 });
        two.trimmed.checkpoint(ALL);
        two.trimmed.stored();
        const { floor, count } = two.trimmed;
        const left = Array.from({ length: count - floor }, (_, index) => floor + index + 1);
        assert.equal(two.trimmed.kept, left);
        await two.compare();
      },
    );
    await fc.assert(property, { numRuns: 300 });
  },
);

crashes.run();
