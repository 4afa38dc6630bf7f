import { newestRows } from '#storage/ports/chunks';
import {
  type InstanceCheckpoint,
  type InstanceStore,
  trimmedOf,
  unpackedHead,
} from '#storage/ports/instances';
import { OBSERVATIONS } from '#storage/ports/rows';
import { type StateRange, statesIn } from '#storage/ports/states';
import { ActorTables } from '#test/simulation/simulated/actor-tables';

/** Number of rows to read: more than any test instance has. */
const ROWS_MAX = 10_000;

/** Tables as in Cassandra. The writes of a checkpoint arrive one by one, late or never. */
export class TableStore implements InstanceStore {
  readonly #tables = new ActorTables();
  readonly #late: (() => void)[] = [];

  /**
   * Executes the first `writes` writes of a checkpoint. The next write is late, and all others are
   * lost. Returns whether all writes were executed.
   */
  begin(checkpoint: InstanceCheckpoint, writes: number): boolean {
    const all = this.#writesOf(checkpoint);
    for (const write of all.slice(0, writes)) write();
    const unanswered = all.at(writes);
    // Writes after the late write are never sent.
    if (unanswered !== undefined) this.#late.push(unanswered);
    return unanswered === undefined;
  }

  /** Executes the late write with the given index. */
  arrive(index: number): void {
    this.#late.splice(index, 1)[0]?.();
  }

  /** Ordinals of all observations in head and chunks, ascending. */
  ordinals(id: string): number[] {
    const head = this.#tables.head(id);
    if (head === undefined) return [];
    const { newestHistory, historyCount } = head;
    const inHead = newestRows(OBSERVATIONS, id, newestHistory, historyCount);
    const inChunks = this.#tables.history(id, ROWS_MAX, ROWS_MAX).reverse();
    const below = inChunks.filter(({ ordinal }) => ordinal <= newestHistory.after);
    return [...below, ...inHead].map(({ ordinal }) => ordinal);
  }

  bucketOf(): number {
    return 0;
  }

  async readHead(id: string) {
    return this.#tables.head(id);
  }

  async readHeads() {
    return new Map();
  }

  async checkpoint() {
    throw new Error('tests call begin() instead of checkpoint()');
  }

  async storeAnswers() {
    return undefined;
  }

  async readHistory(id: string, newest: number, count: number) {
    return this.#tables.history(id, newest, count);
  }

  async readDrift(id: string, newest: number, count: number) {
    return this.#tables.drift(id, newest, count);
  }

  async readStates(id: string, range: StateRange) {
    return statesIn(this.#tables.states(id), range);
  }

  async findStates() {
    return [];
  }

  async findAnswer() {
    return undefined;
  }

  async findAnswers() {
    return [];
  }

  async *answerPages() {}

  /** The writes in the order of the real adapter. Each write is atomic. */
  #writesOf({ instanceId: id, head, history, drift, states, trimmedFrom }: InstanceCheckpoint) {
    const tables = this.#tables;
    const { version } = head;
    const none = { history: [], drift: [], answers: [] };
    const floor = trimmedOf(head);
    const trims = [
      () => tables.trimRows(id, version, floor),
      () => tables.putRows(id, version, { ...tables.chunksAbove(id, floor), answers: [] }),
    ];
    return [
      ...(trimmedFrom === undefined ? [] : trims),
      ...history.map((chunk) => () => tables.putRows(id, version, { ...none, history: [chunk] })),
      ...drift.map((chunk) => () => tables.putRows(id, version, { ...none, drift: [chunk] })),
      ...(states ?? []).map((row) => () => tables.putRows(id, version, { ...none, states: [row] })),
      () => tables.putHead(id, unpackedHead(head)),
    ];
  }
}
