import type { Checkpoint, EarlyRows, EventSourcing } from '#actor-runtime/event-sourcing';
import type { SideEffect } from '#actor-runtime/turn';
import { announcementOf, type Directory } from '#engine/directory/kind';
import { eventOfRecord, recordOfEvent } from '#engine/events/record';
import { applyEvent, type InstanceApplied } from '#engine/instance/apply';
import { type AnswerKey, type InstanceEvent, isListedChange } from '#engine/instance/event';
import { recentWithMark } from '#engine/instance/keyed-answers';
import {
  CHUNK_BOUNDS,
  type ChunkBounds,
  type Cut,
  cutChunks,
  type HeadBounds,
} from '#engine/instance/rows';
import {
  bytesUnstored,
  headOf,
  type InstanceState,
  isLive,
  type ModelPorts,
  type RowsCopy,
  recoveryOf,
} from '#engine/instance/state';
import { newestAbove } from '#storage/ports/chunks';
import {
  type InstanceAnswers,
  type InstanceCheckpoint,
  type InstanceHead,
  type InstanceStore,
  type NewestRows,
  type RecentCall,
  trimmedOf,
} from '#storage/ports/instances';
import { DRIFT_EVENTS, OBSERVATIONS, type Packing } from '#storage/ports/rows';

/** Estimated bytes of a record without its text. */
const RECORD_BYTES = 200;

type SourcingPorts = {
  readonly store: Pick<InstanceStore, 'bucketOf' | 'checkpoint' | 'storeAnswers'>;
  /** Bounds at which rows move from the head to chunks. Undefined: the bounds of the service. */
  readonly chunkBounds?: ChunkBounds | undefined;
  readonly directory: Directory;
  readonly model: ModelPorts;
};

/** Event sourcing of instances: applies, records and stores their events. */
export class InstanceSourcing
  implements EventSourcing<InstanceState, InstanceEvent, InstanceApplied, InstanceCheckpoint>
{
  /** Keyed answers, which are large. Answers of a deleted instance wait for its checkpoint. */
  readonly earlyRows: EarlyRows<InstanceState, InstanceAnswers>;
  readonly #ports: SourcingPorts;

  constructor(ports: SourcingPorts) {
    this.#ports = ports;
    this.earlyRows = {
      sizeOf: (state) => (isLive(state) ? (state.unstored?.answerBytes ?? 0) : 0),
      copy: answersOf,
      store: (copies) => ports.store.storeAnswers(copies),
    };
  }

  apply(state: InstanceState, event: InstanceEvent, version: number, id: string): InstanceApplied {
    return applyEvent(id, state, event, version, this.#ports.model);
  }

  recordOf(event: InstanceEvent): unknown {
    return recordOfEvent(event);
  }

  read(record: unknown): InstanceEvent {
    return eventOfRecord(record, this.#ports.model.models);
  }

  sizeOfRecord({ change }: InstanceEvent): number {
    if (change.kind === 'trimmed') return RECORD_BYTES + 2 * (change.floor.state?.length ?? 0);
    if (change.kind !== 'observed') return RECORD_BYTES;
    const keyBytes = (change.items?.keys ?? []).reduce((sum, one) => sum + bytesOfKey(one), 0);
    return change.observations.reduce(
      (sum, { contextJson }) => sum + RECORD_BYTES + contextJson.length,
      keyBytes,
    );
  }

  bucketOf(id: string): number {
    return this.#ports.store.bucketOf(id);
  }

  checkpoint(
    id: string,
    state: InstanceState,
    recentCalls: readonly RecentCall[],
  ): Checkpoint<InstanceState, InstanceCheckpoint> {
    const { unstored } = state;
    const present = headOf(state);
    const rows = unstored?.copy();
    const { head: cut, history, drift } = this.#cut(id, present, rows);
    state.isModelShared = true;
    // Share the head with the store if possible, because most instances are idle.
    const recent = recentWithMark(present.recentCalls, recentCalls);
    const head = recent === cut.recentCalls ? cut : { ...cut, recentCalls: recent };
    const answers = rows?.answers ?? [];
    return {
      copy: { instanceId: id, head, history, drift, answers, trimmedFrom: rows?.trim?.from },
      forget: (later) => {
        later.recovery = undefined;
        // If the instance was deleted meanwhile, these rows no longer exist.
        if (unstored === undefined || rows === undefined || later.unstored !== unstored) return;
        unstored.drop(rows);
        if (unstored.isEmpty) later.unstored = undefined;
        const { newestHistory, newestDrift } = cut;
        later.head =
          later.head === present ? cut : { ...headOf(later), newestHistory, newestDrift };
      },
    };
  }

  /** Splits the rows that are in no chunk: the newest go to the head, the others to chunks. */
  #cut(id: string, present: InstanceHead, rows: RowsCopy | undefined) {
    if (rows === undefined) return { head: present, history: [], drift: [] };
    const { historyCount, driftCount, newestHistory, newestDrift } = present;
    const { chunkBounds: bounds = CHUNK_BOUNDS } = this.#ports;
    const floor = trimmedOf(present);
    const history = { newest: newestHistory, added: rows.history, last: historyCount };
    const drift = { newest: newestDrift, added: rows.drift, last: driftCount };
    const ofHistory = cutAbove(OBSERVATIONS, id, history, floor.history, bounds.history);
    const ofDrift = cutAbove(DRIFT_EVENTS, id, drift, floor.drift, bounds.drift);
    return {
      head: { ...present, newestHistory: ofHistory.newest, newestDrift: ofDrift.newest },
      history: ofHistory.chunks,
      drift: ofDrift.chunks,
    };
  }

  async store(copies: readonly InstanceCheckpoint[]): Promise<void> {
    await this.#ports.store.checkpoint(copies);
  }

  /** A deletion or a trim deletes stored rows by a promised deadline (decisions 200 and 234). */
  isUrgent({ head, unstored }: InstanceState): boolean {
    return head?.deletedAtMs !== undefined || unstored?.isTrimming === true;
  }

  sizeOfUnstored(state: InstanceState): number {
    return bytesUnstored(state);
  }

  beforeReplay(state: InstanceState, events: readonly InstanceEvent[]): InstanceState {
    // The recovery shares the model, so the first change must copy it.
    return { ...state, isModelShared: true, recovery: recoveryOf(state.head, events) };
  }

  effectAfterReplay(
    id: string,
    state: InstanceState,
    events: readonly InstanceEvent[],
  ): SideEffect | undefined {
    const isListed = events.some(({ change }) => isListedChange(change.kind));
    return isListed ? announcementOf(id, headOf(state), this.#ports.directory) : undefined;
  }
}

function bytesOfKey(one: AnswerKey | undefined): number {
  return one === undefined ? 0 : one.key.length + one.fingerprint.length;
}

/** Rows of one table: the rows in the head, and the rows added since, up to ordinal `last`. */
type TableRows<Row> = {
  readonly newest: NewestRows;
  readonly added: readonly Row[];
  readonly last: number;
};

/** Cuts the rows above a floor into rows of a head and chunks. */
function cutAbove<Row extends { readonly ordinal: number }>(
  packing: Packing<Row>,
  id: string,
  { newest, added, last }: TableRows<Row>,
  floor: number,
  bounds: HeadBounds,
): Cut {
  const left = newestAbove(packing, id, newest, last - added.length, floor);
  const first = Math.max(0, floor - (last - added.length));
  return cutChunks(left, added.slice(first).map(packing.pack), last, bounds);
}

function answersOf(
  id: string,
  state: InstanceState,
  bytesMax: number,
): Checkpoint<InstanceState, InstanceAnswers> {
  const { unstored } = state;
  const answers = unstored?.copyAnswers(bytesMax) ?? [];
  return {
    copy: { instanceId: id, version: headOf(state).version, answers },
    forget: (later) => {
      // If the instance was deleted meanwhile, these answers no longer exist.
      if (later.unstored === unstored) unstored?.dropAnswers(answers);
    },
  };
}
