import { strict as assert } from 'node:assert';
import { rebuiltAnswer, reportOf } from '#engine/instance/answers';
import type { PastPorts, PastView } from '#engine/instance/past';
import { PastStates } from '#engine/instance/past';
import { replayedItem } from '#engine/instance/process-call';
import { reportJson } from '#engine/json';
import { faultFor, toFault } from '#errors/fault';
import {
  type EngineAnswer,
  type EngineCall,
  type EngineCommand,
  forkStartJson,
  plainAnswer,
} from '#grpc/engine-messages';
import { type Clock, isoTime, sleep } from '#stdlib/clock';
import { CorruptState } from '#storage/ports/bytes';
import { type AnswerPosition, unpackedState } from '#storage/ports/instances';
import type { StateRow } from '#storage/ports/states';
import type { Metrics } from '#telemetry/metrics';

type Command<Kind extends EngineCommand['kind']> = Extract<EngineCommand, { kind: Kind }>;

/** A command that reads past states. */
export type PastCommand = Command<'readStates'> | Command<'readForkStart'>;

/** Account and deadline of a call. */
type PastCall = Pick<EngineCall, 'accountId' | 'deadlineAtMs'>;

/** Bounds of reads that wait in one line. */
type LineBounds = {
  /** Reads that run at the same time, in turns. */
  readonly runningMax: number;
  /** Reads of a process, running and waiting. */
  readonly readsMax: number;
  /** Reads of one account, so that no account takes all places. */
  readonly accountMax: number;
  /** Subject of the refusal of a further read. */
  readonly what: string;
};

const READS = { runningMax: 4, readsMax: 64, accountMax: 8, what: 'reads of past states' };

/**
 * Bounds of replays. Four fleet calls of an account, the maximum at one edge, replay 256 answers at
 * once. A waiting replay takes less than 1 KiB.
 */
const REPLAYS = { runningMax: 2, readsMax: 1_024, accountMax: 256, what: 'replays' };

/** Time of a read before other turns run, in milliseconds. */
const SLICE_MS = 2;

/** Reasons for which the answer of a position cannot be rebuilt. */
const NOT_REBUILT: ReadonlySet<string | undefined> = new Set([
  ...(['unknown_cycle', 'cycle_trimmed', 'state_not_stored', 'replay_mismatch'] as const),
]);

type PastReadsPorts = Pick<PastPorts, 'store' | 'models'> & {
  readonly clock: Clock;
  readonly metrics: Metrics;
};

/**
 * Answers calls about past states outside the turns of their instances. A bounded number of reads
 * runs at the same time, each in time slices. Source: decision 318.
 */
export class PastReads {
  readonly #ports: PastReadsPorts;
  readonly #onReplay: (isSame: boolean) => void;
  readonly #reads = new Line(READS);
  readonly #replays = new Line(REPLAYS);

  constructor(ports: PastReadsPorts) {
    this.#ports = ports;
    const replays = ports.metrics.counter('identity_replays_total');
    const proven = replays.labels({ result: 'proven' });
    const mismatch = replays.labels({ result: 'mismatch' });
    this.#onReplay = (isSame) => (isSame ? proven : mismatch).inc();
  }

  /**
   * Answers a call. `view` asks the instance for its present view, in a turn. Throws the faults of
   * `PastStates`, `overloaded` and `deadline_exceeded`.
   */
  async answer(
    { accountId, deadlineAtMs }: PastCall,
    command: PastCommand,
    view: () => Promise<PastView>,
  ): Promise<EngineAnswer> {
    const read = (one: PastView) => this.#read(command, deadlineAtMs, one);
    return await this.#reads.placed(accountId, () => ofView(view, read));
  }

  /**
   * Repeats the answer to the observation at `position` (decision 22). `view` as in `answer`. If the
   * state of that time is not available, the answer has the present state. Throws `overloaded` and
   * `deadline_exceeded`.
   */
  async replay(
    { accountId, deadlineAtMs }: PastCall,
    position: AnswerPosition,
    view: () => Promise<PastView>,
  ): Promise<EngineAnswer> {
    const read = (one: PastView) => this.#replayed(position, deadlineAtMs, one);
    return await this.#replays.placed(accountId, () => ofView(view, read));
  }

  async #replayed(
    { generation, cycle, version }: AnswerPosition,
    deadlineAtMs: number,
    view: PastView,
  ): Promise<EngineAnswer> {
    const { instanceId, head } = view;
    const { models } = this.#ports;
    try {
      const [row] = await this.#statesOf(view, deadlineAtMs).at(generation, [cycle]);
      assert(row !== undefined, 'a read answers with each cycle');
      const state = { modelVersion: row.modelVersion, model: unpackedState(row.state) };
      return rebuiltAnswer(instanceId, state, version, models);
    } catch (error) {
      if (!NOT_REBUILT.has(toFault(error).reason)) throw error;
      return replayedItem({ head }, { instanceId }, models);
    }
  }

  #statesOf(view: PastView, deadlineAtMs: number): PastStates {
    const { store, models, clock } = this.#ports;
    const pause = pauses(clock, deadlineAtMs);
    return new PastStates(view, { store, models, pause, onReplay: this.#onReplay });
  }

  async #read(command: PastCommand, deadlineAtMs: number, view: PastView): Promise<EngineAnswer> {
    const past = this.#statesOf(view, deadlineAtMs);
    const { generation = view.head.generation } = command;
    if (command.kind === 'readForkStart') {
      const [row] = await past.at(generation, [command.cycle]);
      assert(row !== undefined, 'a read answers with each cycle');
      const { cycle, originMs, observedAtMs, modelVersion, state } = row;
      const at = { parentId: view.instanceId, generation, cycle };
      const start = { ...at, originMs, observedAtMs, modelVersion, state };
      return plainAnswer(forkStartJson(start, view.head));
    }
    const { cycles, points } = command;
    const rows = await (cycles.length === 0
      ? past.points(generation, points)
      : past.at(generation, cycles));
    const pause = pauses(this.#ports.clock, deadlineAtMs);
    const states: string[] = [];
    for (const row of rows) {
      const pausing = pause();
      if (pausing !== undefined) await pausing;
      states.push(stateJson(view.instanceId, row, this.#ports.models));
    }
    const start = `{"data":{"instance_id":"${view.instanceId}","generation":${generation}`;
    return plainAnswer(`${start},"states":[${states.join(',')}]}}`);
  }
}

/** Calls that run at the same time, up to a bound, and calls that wait for their place, in order. */
class Line {
  readonly #bounds: LineBounds;
  readonly #byAccount = new Map<string, number>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(bounds: LineBounds) {
    this.#bounds = bounds;
  }

  /** Runs `read` when a place is free. Throws `overloaded` if too many reads wait. */
  async placed<T>(accountId: string, read: () => Promise<T>): Promise<T> {
    const { runningMax, readsMax, accountMax, what } = this.#bounds;
    const reads = this.#byAccount.get(accountId) ?? 0;
    if (reads >= accountMax || this.#running + this.#waiting.length >= readsMax) {
      throw faultFor('overloaded', `too many ${what} at once`, { retryAfterS: 1 });
    }
    this.#byAccount.set(accountId, reads + 1);
    try {
      if (this.#running >= runningMax) await this.#place();
      else this.#running += 1;
      return await read().finally(() => this.#leave());
    } finally {
      this.#forget(accountId);
    }
  }

  /** Fulfils when a running read hands its place on. */
  #place(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }

  #forget(accountId: string): void {
    const left = (this.#byAccount.get(accountId) ?? 1) - 1;
    if (left === 0) this.#byAccount.delete(accountId);
    else this.#byAccount.set(accountId, left);
  }
}

/**
 * Reads from a view. Reads again if the instance was trimmed or deleted meanwhile: its rows are then
 * missing.
 */
async function ofView<T>(
  view: () => Promise<PastView>,
  read: (view: PastView) => Promise<T>,
): Promise<T> {
  const first = await view();
  try {
    return await read(first);
  } catch (error) {
    if (!(error instanceof CorruptState)) throw error;
    const second = await view();
    if (second.head.version === first.head.version) throw error;
    return await read(second);
  }
}

/** A past state with snapshot, contract and drift, as answered to its observation. */
function stateJson(instanceId: string, row: StateRow, models: PastPorts['models']): string {
  const { cycle, observedAtMs, modelVersion } = row;
  const head = { modelVersion, model: unpackedState(row.state) };
  const report = reportJson(instanceId, reportOf(instanceId, head, models));
  const timestamp = observedAtMs === undefined ? null : isoTime(observedAtMs);
  const where = JSON.stringify({ cycle, timestamp, model_version: modelVersion });
  return `${where.slice(0, -1)},${report.slice(1)}`;
}

/** Lets other turns run after each slice. Throws `deadline_exceeded` after the deadline. */
function pauses(clock: Clock, deadlineAtMs: number): () => Promise<void> | undefined {
  let endsAtMs = clock.monotonicMs() + SLICE_MS;
  return () => {
    if (clock.monotonicMs() < endsAtMs) return undefined;
    if (clock.wallMs() >= deadlineAtMs) {
      throw faultFor('deadline_exceeded', 'the deadline has passed');
    }
    return sleep(clock, 0).then(() => {
      endsAtMs = clock.monotonicMs() + SLICE_MS;
    });
  };
}
