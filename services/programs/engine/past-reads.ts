import { strict as assert } from 'node:assert';
import { reportOf } from '#engine/instance/answers';
import type { PastPorts, PastView } from '#engine/instance/past';
import { PastStates } from '#engine/instance/past';
import { reportJson } from '#engine/json';
import { faultFor } from '#errors/fault';
import {
  type EngineAnswer,
  type EngineCall,
  type EngineCommand,
  forkStartJson,
  plainAnswer,
} from '#grpc/engine-messages';
import { type Clock, isoTime, sleep } from '#stdlib/clock';
import { CorruptState } from '#storage/ports/bytes';
import { unpackedState } from '#storage/ports/instances';
import type { StateRow } from '#storage/ports/states';
import type { Metrics } from '#telemetry/metrics';

type Command<Kind extends EngineCommand['kind']> = Extract<EngineCommand, { kind: Kind }>;

/** A command that reads past states. */
export type PastCommand = Command<'readStates'> | Command<'readForkStart'>;

/** Account and deadline of a call. */
type PastCall = Pick<EngineCall, 'accountId' | 'deadlineAtMs'>;

/** Reads of past states that run at the same time, in turns. */
const RUNNING_MAX = 4;

/** Reads of past states in a process, running and waiting. Each holds the unstored rows. */
const READS_MAX = 64;

/** Reads of past states of one account, so that no account takes all places. */
const ACCOUNT_READS_MAX = 8;

/** Time of a read before other turns run, in milliseconds. */
const SLICE_MS = 2;

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
  readonly #byAccount = new Map<string, number>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;

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
    const reads = this.#byAccount.get(accountId) ?? 0;
    if (reads >= ACCOUNT_READS_MAX || this.#running + this.#waiting.length >= READS_MAX) {
      throw faultFor('overloaded', 'too many reads of past states at once', { retryAfterS: 1 });
    }
    this.#byAccount.set(accountId, reads + 1);
    try {
      if (this.#running >= RUNNING_MAX) await this.#place();
      else this.#running += 1;
      return await this.#answered(command, deadlineAtMs, view).finally(() => this.#leave());
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

  /** Reads again if the instance was trimmed or deleted meanwhile: its rows are then missing. */
  async #answered(
    command: PastCommand,
    deadlineAtMs: number,
    view: () => Promise<PastView>,
  ): Promise<EngineAnswer> {
    const first = await view();
    try {
      return await this.#read(command, deadlineAtMs, first);
    } catch (error) {
      if (!(error instanceof CorruptState)) throw error;
      const second = await view();
      if (second.head.version === first.head.version) throw error;
      return await this.#read(command, deadlineAtMs, second);
    }
  }

  async #read(command: PastCommand, deadlineAtMs: number, view: PastView): Promise<EngineAnswer> {
    const { store, models, clock } = this.#ports;
    const pause = pauses(clock, deadlineAtMs);
    const past = new PastStates(view, { store, models, pause, onReplay: this.#onReplay });
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
