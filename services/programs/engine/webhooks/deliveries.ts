import type { FailedRow, HeldRows, Progress, WantedRow } from '#webhooks/endpoint';
import { ATTEMPTS_MAX, waitMs } from '#webhooks/retry-schedule';

/** Maximum number of messages of an endpoint that are on their way. */
export const IN_FLIGHT_MAX = 32;

/** Maximum number of events in a message, about 300 kB. A single row may have a few hundred. */
const EVENTS_MAX = 1_000;

/** Number of held rows beyond which no new rows are taken. */
export const HELD_ROWS_MAX = 1_000;

/** Maximum number of held rows of one instance. The oldest are given up first. */
const HELD_ROWS_OF_INSTANCE_MAX = 50;

/** Maximum number of listed failures. The oldest are dropped first. */
const FAILURES_MAX = 200;

/** Maximum number of rows in memory without a failed attempt. */
const WAITING_ROWS_MAX = 1_000;

/** Failures in a row after which an endpoint gets one message at a time, after growing pauses. */
export const STREAK_MAX = 10;

/** Maximum pause of an endpoint after failures in a row, in milliseconds. */
const PAUSE_MS_MAX = 10 * 60 * 1_000;

/** Maximum attempts for a row of an instance whose earlier row was given up. */
const ATTEMPTS_AFTER_GAP_MAX = 3;

/** Time without a success after which an endpoint is paused, in milliseconds: three days. */
export const FAILING_MS_MAX = 3 * 24 * 60 * 60 * 1_000;

/** Rows to be delivered together, in the order of the feed. */
export type Batch = {
  readonly rows: readonly WantedRow[];
  /** Whether earlier rows of the feed or of these instances are missing. */
  readonly followsGap: boolean;
  /** Keys of the lanes that the rows come from. */
  readonly lanes: readonly string[];
  /** Number of pauses after failures that had begun before the attempt. */
  readonly pauses: number;
};

/** Result of an attempt. `askedS`: wait in seconds that the endpoint asked for. */
export type AttemptResult =
  | { readonly isDelivered: true }
  | { readonly isDelivered: false; readonly cause: string; readonly askedS: number };

/** Rows of one instance, in the order of the feed. At most one attempt is under way. */
type Lane = {
  readonly instanceId: string;
  readonly isAgain: boolean;
  readonly rows: WantedRow[];
  /** Number of the first rows that are under way. */
  sent: number;
  /** Number of the first rows that were attempted together. 0: no attempt. */
  together: number;
  /** Whether the rows are part of the durable progress. A held lane stays held until it is empty. */
  isHeld: boolean;
  attempts: number;
  dueMs: number;
  followsGap: boolean;
};

/**
 * Deliveries to one endpoint: decides what is sent next. The rows of an instance are delivered in
 * order, one attempt at a time. A row that fails holds back only later rows of its instance. Each
 * success doubles the number of concurrent attempts, and each failure halves it. After ten failures
 * in a row, the endpoint gets one message per pause. The pause grows only if this message fails too.
 *
 * Deterministic: times and random numbers are arguments. A new object from a `progress` repeats
 * rows that were delivered since, and loses none.
 */
export class Deliveries {
  readonly #random: () => number;
  readonly #lanes = new Map<string, Lane>();
  /** Maximum number of rows in a message. */
  rowsMax: number;
  #failed: FailedRow[];
  /** Position after the last row that was taken or skipped. */
  #taken: number;
  #waiting = 0;
  #held = 0;
  #underWay = 0;
  /** Attempts that may be under way at the same time. Starts low: the endpoint may hang. */
  #window = 1;
  /** Failures since the last success, without attempts that began before the newest pause. */
  #streak = 0;
  /** Number of pauses that have begun. */
  #pauses = 0;
  /** Ends of pauses, in Unix milliseconds: after failures, and for other reasons. */
  #pausedUntilMs = 0;
  #postponedUntilMs = 0;
  #failingSinceMs: number | undefined;
  #isMissing: boolean;
  /** Rows that were delivered or given up since the last `takeEnded`. */
  #ended: number[] = [];

  /** `rowsMax`: rows in a message. `random`: uniform in [0, 1). */
  constructor(progress: Progress, rowsMax: number, random: () => number) {
    this.rowsMax = rowsMax;
    this.#random = random;
    this.#taken = progress.cursor;
    this.#failed = [...progress.failed];
    this.#failingSinceMs = progress.failingSinceMs;
    this.#isMissing = progress.isMissing;
    for (const held of progress.held) {
      const { instanceId } = held;
      const rows = held.rows.map(([seq, events]) => ({ seq, instanceId, events }));
      const key = held.isAgain ? againKey(rows[0]?.seq) : instanceId;
      this.#lanes.set(key, { ...held, rows, sent: 0, isHeld: true });
      this.#held += rows.length;
    }
  }

  /** Position of the next row to be taken or skipped. */
  get taken(): number {
    return this.#taken;
  }

  /** Whether another row may be taken. */
  get hasRoom(): boolean {
    return this.#waiting < WAITING_ROWS_MAX && this.#held < HELD_ROWS_MAX;
  }

  /** Number of further rows that `repeat` may get. */
  get repeatsMax(): number {
    return Math.max(0, HELD_ROWS_MAX - this.#held);
  }

  /** Whether no attempt has succeeded since a failure. */
  get isFailing(): boolean {
    return this.#failingSinceMs !== undefined;
  }

  /** Takes the row at `taken`. */
  take(row: WantedRow, nowMs: number): void {
    this.#taken = row.seq + 1;
    const lane = this.#laneOf(row.instanceId);
    // A restarted endpoint may see a row that it holds.
    if (row.seq <= (lane.rows.at(-1)?.seq ?? -1)) return;
    lane.rows.push(row);
    if (lane.isHeld) this.#held += 1;
    else this.#waiting += 1;
    if (!lane.isHeld || lane.sent > 0 || lane.rows.length <= HELD_ROWS_OF_INSTANCE_MAX) return;
    lane.sent = Math.max(1, lane.together);
    this.#fail(row.instanceId, lane, 'too_many_waiting', nowMs);
  }

  /** Moves on to a position, past rows that the endpoint does not want. */
  skipTo(seq: number): void {
    this.#taken = Math.max(this.#taken, seq);
  }

  /** Moves on to the first available row, because the rows before it are no longer kept. */
  miss(floor: number): void {
    this.#isMissing = true;
    this.skipTo(floor);
  }

  /** Next rows to be sent; undefined if nothing may be sent now. */
  next(nowMs: number): Batch | undefined {
    if (this.#underWay >= this.#window || nowMs < this.#readyMs) return undefined;
    const chosen = this.#chosen(nowMs);
    if (chosen.length === 0) return undefined;
    this.#underWay += 1;
    const rows = chosen.flatMap(([, lane]) => lane.rows.slice(0, lane.sent));
    return {
      rows: rows.sort((one, other) => one.seq - other.seq),
      followsGap: this.#isMissing || chosen.some(([, lane]) => lane.followsGap),
      lanes: chosen.map(([key]) => key),
      pauses: this.#pauses,
    };
  }

  /** Lanes whose first rows are sent next, together. */
  #chosen(nowMs: number): [string, Lane][] {
    const chosen: [string, Lane][] = [];
    const room = { rows: this.rowsMax, events: EVENTS_MAX };
    for (const [key, lane] of this.#lanes) {
      if (lane.sent > 0 || nowMs < lane.dueMs) continue;
      // A retry is alone, so that its failure concerns no other instance.
      if (lane.together > 0 || lane.isAgain) {
        if (chosen.length > 0) continue;
        lane.sent = Math.max(1, lane.together);
        return [[key, lane]];
      }
      lane.sent = fittingIn(lane.rows, room, chosen.length > 0);
      if (lane.sent === 0) break;
      chosen.push([key, lane]);
    }
    return chosen;
  }

  /** Ends the attempt for a batch from `next`. */
  end(batch: Batch, result: AttemptResult, nowMs: number): void {
    const { lanes, followsGap } = batch;
    this.#underWay -= 1;
    if (result.isDelivered && followsGap) this.#isMissing = false;
    this.#adapt(batch, result, nowMs);
    for (const [key, lane] of this.#sentOf(lanes)) {
      if (result.isDelivered) this.#delivered(key, lane);
      else this.#hold(key, lane, result, nowMs);
    }
  }

  /**
   * Takes a batch back until a time, because nothing could be sent. The endpoint is not at fault, so
   * no attempt is counted.
   */
  postpone({ lanes }: Batch, untilMs: number): void {
    this.#underWay -= 1;
    this.#postponedUntilMs = Math.max(this.#postponedUntilMs, untilMs);
    for (const [, lane] of this.#sentOf(lanes)) lane.sent = 0;
  }

  /** Takes a batch back, and gives up its rows before `floor`, which are no longer kept. */
  expire({ lanes }: Batch, floor: number, nowMs: number): void {
    this.#underWay -= 1;
    for (const [key, lane] of this.#sentOf(lanes)) {
      lane.sent = lane.rows.filter(({ seq }) => seq < floor).length;
      if (lane.sent > 0) this.#fail(key, lane, 'expired', nowMs);
    }
  }

  /** Time at which `next` may return more than now, in Unix milliseconds; Infinity: after `end`. */
  get dueMs(): number {
    let dueMs = Number.POSITIVE_INFINITY;
    if (this.#underWay >= this.#window) return dueMs;
    for (const lane of this.#lanes.values()) {
      if (lane.sent === 0) dueMs = Math.min(dueMs, lane.dueMs);
    }
    return Math.max(dueMs, this.#readyMs);
  }

  /** Whether nothing was delivered for so long that the endpoint must be paused. */
  isGivenUp(nowMs: number): boolean {
    return this.#failingSinceMs !== undefined && nowMs - this.#failingSinceMs > FAILING_MS_MAX;
  }

  /** Delivers a row once more, beside the usual order. It is no longer listed as given up. */
  repeat(row: WantedRow): void {
    const key = againKey(row.seq);
    if (this.#lanes.has(key)) return;
    this.#failed = this.#failed.filter(({ seq }) => seq !== row.seq);
    const lane = { ...newLane(row.instanceId), rows: [row], isHeld: true, isAgain: true };
    this.#lanes.set(key, lane);
    this.#held += 1;
  }

  /** Positions of the rows that were delivered or given up since the last call. */
  takeEnded(): readonly number[] {
    return this.#ended.splice(0);
  }

  /** Durable progress at present. */
  get progress(): Progress {
    let cursor = this.#taken;
    const held: HeldRows[] = [];
    for (const { rows, isHeld, sent: _, ...lane } of this.#lanes.values()) {
      if (isHeld) held.push({ ...lane, rows: rows.map(({ seq, events }) => [seq, events]) });
      else cursor = Math.min(cursor, rows[0]?.seq ?? cursor);
    }
    const failingSinceMs = this.#failingSinceMs;
    const isMissing = this.#isMissing;
    return { cursor, held, failed: [...this.#failed], failingSinceMs, isMissing };
  }

  /** Time before which nothing may be sent, in Unix milliseconds. */
  get #readyMs(): number {
    return Math.max(this.#pausedUntilMs, this.#postponedUntilMs);
  }

  /** Lanes of a batch with rows under way. */
  #sentOf(keys: readonly string[]): [string, Lane][] {
    return keys.flatMap((key): [string, Lane][] => {
      const lane = this.#lanes.get(key);
      return lane === undefined || lane.sent === 0 ? [] : [[key, lane]];
    });
  }

  /** Adapts the rate to the endpoint: half of it after a failure, twice of it after a success. */
  #adapt({ pauses }: Batch, result: AttemptResult, nowMs: number): void {
    if (result.isDelivered) {
      this.#streak = 0;
      this.#failingSinceMs = undefined;
      this.#pausedUntilMs = 0;
      this.#window = Math.min(IN_FLIGHT_MAX, 2 * this.#window);
      return;
    }
    this.#failingSinceMs ??= nowMs;
    this.#window = Math.max(1, Math.floor(this.#window / 2));
    if (result.askedS > 0) {
      const askedMs = nowMs + waitMs(0, this.#random(), result.askedS);
      this.#postponedUntilMs = Math.max(this.#postponedUntilMs, askedMs);
    }
    // Concurrent attempts often fail together. Only an attempt after a pause may lengthen the pause.
    if (pauses < this.#pauses) return;
    this.#streak += 1;
    if (this.#streak < STREAK_MAX) return;
    this.#pauses += 1;
    const pauseMs = waitMs(this.#streak - STREAK_MAX + 1, this.#random());
    this.#pausedUntilMs = nowMs + Math.min(pauseMs, PAUSE_MS_MAX);
  }

  /** Lists the rows of a lane that were under way as failed. */
  #fail(key: string, lane: Lane, cause: string, nowMs: number): void {
    for (const { seq, instanceId } of lane.rows.slice(0, lane.sent)) {
      this.#failed.push({ seq, instanceId, atMs: nowMs, cause, isReported: lane.isAgain });
    }
    const dropped = this.#failed.splice(0, this.#failed.length - FAILURES_MAX);
    // The list has lost the instances with a gap, so the next message reports a gap.
    if (dropped.some(({ isReported }) => !isReported)) this.#isMissing = true;
    this.#pass(key, lane);
    lane.followsGap = !lane.isAgain;
  }

  #delivered(key: string, lane: Lane): void {
    if (lane.followsGap) {
      const { instanceId } = lane;
      this.#failed = this.#failed.map((row) =>
        row.instanceId === instanceId ? { ...row, isReported: true } : row,
      );
    }
    lane.followsGap = false;
    this.#pass(key, lane);
  }

  /** Removes the rows of a lane that were under way. Other lanes come next. */
  #pass(key: string, lane: Lane): void {
    const ended = lane.rows.splice(0, lane.sent);
    for (const { seq } of ended) this.#ended.push(seq);
    if (lane.isHeld) this.#held -= ended.length;
    else this.#waiting -= ended.length;
    Object.assign(lane, { sent: 0, together: 0, attempts: 0, dueMs: 0 });
    this.#lanes.delete(key);
    if (lane.rows.length > 0) this.#lanes.set(key, lane);
  }

  #hold(
    key: string,
    lane: Lane,
    { cause }: AttemptResult & { readonly isDelivered: false },
    nowMs: number,
  ): void {
    if (!lane.isHeld) {
      lane.isHeld = true;
      this.#waiting -= lane.rows.length;
      this.#held += lane.rows.length;
    }
    lane.attempts += 1;
    const attemptsMax = lane.followsGap ? ATTEMPTS_AFTER_GAP_MAX : ATTEMPTS_MAX;
    if (lane.attempts >= attemptsMax) {
      this.#fail(key, lane, cause, nowMs);
      return;
    }
    lane.together = lane.sent;
    lane.sent = 0;
    lane.dueMs = nowMs + waitMs(lane.attempts, this.#random());
  }

  #laneOf(instanceId: string): Lane {
    const known = this.#lanes.get(instanceId);
    if (known !== undefined) return known;
    const lane = newLane(instanceId);
    lane.followsGap = this.#failed.some((row) => row.instanceId === instanceId && !row.isReported);
    this.#lanes.set(instanceId, lane);
    return lane;
  }
}

function newLane(instanceId: string): Lane {
  return {
    ...{ instanceId, rows: [], sent: 0, together: 0, isHeld: false, isAgain: false },
    ...{ attempts: 0, dueMs: 0, followsGap: false },
  };
}

/** Number of the first rows that fit into a message; uses up the room. */
function fittingIn(
  rows: readonly WantedRow[],
  room: { rows: number; events: number },
  hasOthers: boolean,
): number {
  let count = 0;
  for (const { events } of rows) {
    const isFirst = count === 0 && !hasOthers;
    if (room.rows === 0 || (events > room.events && !isFirst)) break;
    room.rows -= 1;
    room.events = Math.max(0, room.events - events);
    count += 1;
  }
  return count;
}

/** Key of the lane of a row that is delivered again. No instance has such an id. */
function againKey(seq: number | undefined): string {
  return `again ${seq}`;
}
