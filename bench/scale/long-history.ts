import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpCaller } from '#bench/load/http-caller';
import { at, isObject, type JsonObject } from '#bench/load/process-answer';
import { withProgress } from '#bench/progress';
import { checkPagination } from '#bench/scale/pagination';
import { MODE_TARGETS } from '#identity/modes';

/** Observations per batch: the API's maximum. */
export const BATCH = 100;

/** Batches in flight. The instance processes batches sequentially; more would only queue. */
const BATCHES_IN_FLIGHT = 4;

/**
 * Minimum time between two batches, in ms. An instance stores the ids of 4,096 calls for 20 s and
 * refuses further calls (architecture 3.5).
 */
const PACE_MS = 5;

/**
 * Time of the first observation. Further observations follow 1 s apart, so that none is throttled.
 */
const FIRST_MS = Date.UTC(2026, 0, 1);

/** Timing of a long history's observations. */
export type Taken = {
  /** Answer time of each batch, in ms. */
  readonly answeredMs: readonly number[];
  readonly longestMs: number;
  /** Number of batches that arrived after a later batch and were sent again. */
  readonly overtaken: number;
};

/** An instance with a given number of observations, and its expected history. */
export class LongHistory {
  readonly total: number;
  readonly #caller: HttpCaller;
  readonly #path: string;
  /** Number of each batch's first observation in send order; batches are in cycle order. */
  readonly #firstOfBatch: number[] = [];
  #sent = 0;

  constructor(caller: HttpCaller, instanceId: string, total: number) {
    if (total % BATCH !== 0)
      throw new Error(`the number of observations must be a multiple of ${BATCH}, not ${total}`);
    this.#caller = caller;
    this.#path = `/v1/instances/${instanceId}`;
    this.total = total;
  }

  /**
   * Sends all observations, several batches in flight. `afterBatch` receives the number of answered
   * batches.
   */
  async fill(afterBatch: (count: number) => void, print: (line: string) => void): Promise<Taken> {
    const answeredMs: number[] = [];
    const count = this.total / BATCH;
    const state = { begun: 0, longestMs: 0, overtaken: 0, nextMs: 0 };
    const sender = async (): Promise<void> => {
      while (state.begun < count) {
        state.begun += 1;
        for (let isTaken = false; !isTaken; ) {
          const sentMs = await pause(state);
          isTaken = await this.#sendBatch();
          if (!isTaken) state.overtaken += 1;
          state.longestMs = Math.max(state.longestMs, performance.now() - sentMs);
        }
        answeredMs.push(performance.now());
        afterBatch(answeredMs.length);
      }
    };
    const line = () => `${(answeredMs.length * BATCH).toLocaleString('en')} observations`;
    const senders = () => Array.from({ length: BATCHES_IN_FLIGHT }, sender);
    await withProgress(line, print, () => Promise.all(senders()));
    for (let batch = 0; batch < count; batch += 1) {
      if (this.#firstOfBatch[batch] === undefined)
        throw new Error(`the service processed no batch at position ${batch}`);
    }
    return { answeredMs, longestMs: state.longestMs, overtaken: state.overtaken };
  }

  /** Reads a page of the history, newest first. */
  read(limit: number, offset: number): Promise<unknown> {
    const path = `${this.#path}/history?limit=${limit}&offset=${offset}`;
    return this.#caller.send({ method: 'GET', path });
  }

  /** Throws unless `answer` holds exactly the expected observations as sent. */
  check(answer: unknown, limit: number, offset: number): void {
    const rows = at(answer, ['data']);
    const expected = Math.min(limit, this.total - offset);
    if (!Array.isArray(rows) || rows.length !== expected) {
      throw new Error(`expected a page of ${expected} rows at offset ${offset}`);
    }
    for (const [index, row] of rows.entries()) this.#checkRow(row, this.total - offset - index);
    checkPagination(answer, { limit, offset, total: this.total });
  }

  #checkRow(row: unknown, cycle: number): void {
    const batch = Math.floor((cycle - 1) / BATCH);
    const number = (this.#firstOfBatch[batch] ?? Number.NaN) + ((cycle - 1) % BATCH);
    const right = { cycle, ...observationOf(number) };
    if (!isObject(row)) throw new Error(`expected cycle ${cycle}, got no row`);
    for (const [name, value] of Object.entries(right)) {
      const found = JSON.stringify(row[name]);
      const wanted = JSON.stringify(value);
      if (found !== wanted)
        throw new Error(`cycle ${cycle}: expected ${name} ${wanted}, got ${found}`);
    }
  }

  /**
   * Sends the next batch. Returns false if the service throttled the batch, because a later batch
   * arrived first.
   */
  async #sendBatch(): Promise<boolean> {
    const first = this.#sent;
    this.#sent += BATCH;
    const observations = Array.from({ length: BATCH }, (_, i) => observationOf(first + i));
    const body = JSON.stringify({ observations });
    const path = `${this.#path}/process/batch`;
    const answer = await this.#caller.send({ method: 'POST', path, body });
    const processed = at(answer, ['data', 'processed_count']);
    if (processed === 0) return false;
    const cycle = Number(at(answer, ['data', 'snapshot', 'cycle']));
    const batch = cycle / BATCH - 1;
    const isRight = processed === BATCH && Number.isInteger(batch) && batch >= 0;
    if (!isRight || this.#firstOfBatch[batch] !== undefined) {
      throw new Error(`the service processed ${processed} observations, up to cycle ${cycle}`);
    }
    this.#firstOfBatch[batch] = first;
    return true;
  }
}

/** Observation number `number`, as sent and as shown in the history. */
function observationOf(number: number): JsonObject {
  return {
    mode_target: MODE_TARGETS[number % MODE_TARGETS.length],
    signal_strength: (20 + ((number * 37) % 61)) / 100,
    confidence: (60 + (number % 41)) / 100,
    context: { channel: 'chat', turn: number },
    timestamp: new Date(FIRST_MS + number * 1_000).toISOString(),
  };
}

/** Waits until the next batch may be sent. The pace does not catch up after a stall. */
async function pause(state: { nextMs: number }): Promise<number> {
  const nowMs = performance.now();
  const dueMs = Math.max(nowMs, state.nextMs);
  state.nextMs = dueMs + PACE_MS;
  if (dueMs > nowMs) await sleep(dueMs - nowMs);
  return performance.now();
}
