import { ActorHost, ONE_SHARD } from '#actor-runtime/actor-host';
import type { ActorCall, ActorKind } from '#actor-runtime/actor-kind';
import { CommitLog } from '#actor-runtime/commit-log';
import type { Applied, EventSourcing } from '#actor-runtime/event-sourcing';
import type { ShardGate } from '#actor-runtime/host-ports';
import { decodeRecord } from '#actor-runtime/record-codec';
import { runtimeMetrics } from '#actor-runtime/runtime-metrics';
import type { Turn } from '#actor-runtime/turn';
import { Fault } from '#errors/fault';
import type { Clock } from '#stdlib/clock';
import type { RecentCall } from '#storage/ports/instances';
import type { Journal, JournalRecord } from '#storage/ports/journal';
import { createMetrics } from '#telemetry/metrics';
import { turnOfEvents } from '#test/support/settled';

/** State for a minimal actor that uses all runtime features: a sum. */
export type Tally = { sum: number; unstored: number[] };

/** Call to a tally. `wait` blocks the turn until the promise resolves. */
export type TallyCall = ActorCall & {
  readonly add?: number;
  readonly wait?: Promise<void>;
  readonly refuse?: boolean;
  readonly effect?: () => Promise<void>;
  /** Log offset on which the answer depends, instead of all commits. */
  readonly dependOn?: number;
};

/** Sum after the turn, and whether the call was a retry. */
export type TallyAnswer = {
  readonly sum: number;
  readonly version: number;
  readonly again: boolean;
};

/** A tally's stored state. */
type StoredTally = { sum: number; version: number; recentCalls: readonly RecentCall[] };

/** A tally's copy in a checkpoint. */
type TallyCopy = StoredTally & { readonly id: string };

/** Actor kind for tallies with a map as store, for runtime tests. */
export class TallyKind
  implements
    ActorKind<Tally, TallyCall, TallyAnswer, number>,
    EventSourcing<Tally, number, Applied<Tally>, TallyCopy>
{
  readonly name = 'instance';
  readonly sourcing: EventSourcing<Tally, number> = this;
  readonly stored = new Map<string, StoredTally>();
  readonly #buckets = new Map<string, number>();
  activations = 0;
  writes = 0;
  isStoreDown = false;
  isPinned = false;
  /** Bytes per unstored addition. */
  unstoredBytes = 100;
  /** Amount that `closing` adds to an odd sum; undefined to add nothing. */
  parting: number | undefined;

  async activate(id: string) {
    this.activations += 1;
    if (this.isStoreDown) throw new Fault('service_unavailable', 'the store is down');
    const found = this.stored.get(id);
    const state = { sum: found?.sum ?? 0, unstored: [] };
    return { state, version: found?.version ?? 0, recentCalls: found?.recentCalls ?? [] };
  }

  receive(state: Tally, call: TallyCall, turn: Turn<number>): TallyAnswer | Promise<TallyAnswer> {
    if (call.wait !== undefined) {
      const { wait, ...rest } = call;
      return wait.then(() => this.receive(state, rest, turn));
    }
    if (call.refuse) throw new Fault('conflict', 'refused');
    const again = turn.earlierVersion !== undefined;
    if (call.add !== undefined && !again) turn.commit(call.add);
    if (call.dependOn !== undefined) turn.dependOn(call.dependOn);
    if (call.effect !== undefined) turn.beforeAnswer(call.effect);
    return { sum: state.sum, version: turn.version, again };
  }

  apply(state: Tally, added: number): Applied<Tally> {
    state.sum += added;
    state.unstored.push(added);
    return { state, answer: state.sum };
  }

  recordOf(added: number): number {
    return added;
  }

  read(record: unknown): number {
    return Number(record);
  }

  closing(state: Tally): number | undefined {
    return state.sum % 2 === 0 ? undefined : this.parting;
  }

  /** One bucket per tally, so that each write stores one tally. */
  bucketOf(id: string): number {
    const known = this.#buckets.get(id);
    if (known !== undefined) return known;
    this.#buckets.set(id, this.#buckets.size);
    return this.#buckets.size - 1;
  }

  checkpoint(id: string, state: Tally, recentCalls: readonly RecentCall[]) {
    const { sum } = state;
    const version = (this.stored.get(id)?.version ?? 0) + state.unstored.length;
    const count = state.unstored.length;
    const copy = { id, sum, version, recentCalls };
    return { copy, forget: () => void state.unstored.splice(0, count) };
  }

  async store(copies: readonly TallyCopy[]): Promise<void> {
    this.writes += 1;
    if (this.isStoreDown) throw new Fault('service_unavailable', 'the store is down');
    for (const { id, ...stored } of copies) this.stored.set(id, stored);
  }

  isUrgent({ sum }: Tally): boolean {
    return sum < 0;
  }

  sizeOf(): number {
    return 1_000;
  }

  sizeOfRecord(): number {
    return 100;
  }

  sizeOfUnstored({ unstored }: Tally): number {
    return unstored.length * this.unstoredBytes;
  }

  isAbsent(state: Tally): boolean {
    return state.sum === 0;
  }

  isEvictable(): boolean {
    return !this.isPinned;
  }
}

/** A journal whose appends end when the test calls `succeed` or `fail`. */
export class SlowJournal implements Journal {
  readonly isLasting = true;
  readonly isOnlyWriter = false;
  readonly groups: (readonly JournalRecord[])[] = [];
  readonly #pending: PromiseWithResolvers<void>[] = [];

  append(lines: readonly string[]): Promise<void> {
    this.groups.push(lines.map(decodeRecord));
    const pending = Promise.withResolvers<void>();
    this.#pending.push(pending);
    return pending.promise;
  }

  /** Completes the oldest append, which may begin in this event-loop turn. */
  async succeed(): Promise<void> {
    await turnOfEvents();
    this.#pending.shift()?.resolve();
  }

  /** Fails the oldest append, which ends the commit log that writes to the journal. */
  async fail(): Promise<void> {
    await turnOfEvents();
    this.#pending.shift()?.reject(new Fault('service_unavailable', 'fenced'));
  }
}

/** A host for tallies on this clock and journal. */
export function hostOf(
  kind: TallyKind,
  clock: Clock,
  journal: Journal,
  config = { idleAgeMs: 60_000, memoryBytesMax: 1_000_000 },
  gate: ShardGate = ONE_SHARD,
) {
  const bugs: unknown[] = [];
  const log = new CommitLog(journal, clock);
  const host = new ActorHost(kind, config, {
    clock,
    log,
    gate,
    metrics: runtimeMetrics(createMetrics(), 'engine', 'instance'),
    onBug: (error) => bugs.push(error),
  });
  return { host, bugs, log };
}

let lastCallId = 0;

/** A call with a unique id and a distant deadline. */
export function tallyCall(fields: Partial<TallyCall> = {}): TallyCall {
  lastCallId += 1;
  return { callId: lastCallId, deadlineAtMs: Number.POSITIVE_INFINITY, ...fields };
}
