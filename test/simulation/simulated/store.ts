import { Fault } from '#errors/fault';
import type { SimulatedProcess } from '#test/simulation/simulated/process';
import type { World } from '#test/simulation/world';

/** Latency between a process and the store, in milliseconds. */
const TRAVEL_MS = { from: 0.1, to: 1.5 };

/** Delay of a write that is executed after its timeout, in milliseconds. */
const LATE_MS = { from: 20, to: 12_000 };

/** Fault probabilities for each store call. */
export type StoreFaults = {
  /** The call arrives 20 to 3,000 ms later, possibly after the driver's timeout. */
  readonly slow: number;
  /** The call is executed, but answered with a timeout or not at all. */
  readonly answerLost: number;
  /** The call is answered with a timeout, but executed up to 12 s later. */
  readonly executedLate: number;
  /** The call is refused and not executed. */
  readonly refused: number;
  /** The call is neither executed nor answered. */
  readonly swallowed: number;
};

/** Driver's timeout, in milliseconds. */
const TIMEOUT_MS = 2_000;

/** A store without faults. */
export const NO_STORE_FAULTS: StoreFaults = {
  slow: 0,
  answerLost: 0,
  executedLate: 0,
  refused: 0,
  swallowed: 0,
};

type CallFault = 'none' | 'answerLost' | 'executedLate' | 'refused' | 'swallowed';

/** A store call. `execute` runs atomically, or not at all. */
export type StoreCall<Answer> = {
  readonly name: string;
  readonly isWrite: boolean;
  readonly execute: () => Promise<Answer>;
  /** Called after the execution. `isAnswered`: whether the store sends an answer. */
  readonly onLeft?: (isAnswered: boolean) => void;
};

/**
 * Simulated database server with its network. A call may be executed after its sender has timed out
 * or died.
 */
export class SimulatedStore {
  readonly world: World;
  faults: StoreFaults = NO_STORE_FAULTS;
  #stalledUntilMs = 0;
  readonly #cut = new Set<string>();

  constructor(world: World) {
    this.world = world;
  }

  /** Stalls the server. Calls that arrive during the stall are executed afterwards. */
  stall(durationMs: number): void {
    this.#stalledUntilMs = Math.max(this.#stalledUntilMs, this.world.nowMs + durationMs);
  }

  /** Disconnects a process from the store, or reconnects the process. */
  setCut(processName: string, isCut: boolean): void {
    if (isCut) this.#cut.add(processName);
    else this.#cut.delete(processName);
  }

  /** Makes a call for a process. The promise does not settle after the end of the process. */
  call<Answer>(process: SimulatedProcess, call: StoreCall<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      let isSettled = false;
      const settle = (deliver: () => void): void => {
        if (isSettled) return;
        isSettled = true;
        timer[Symbol.dispose]();
        deliver();
      };
      const timer = process.clock.after(TIMEOUT_MS, () => settle(() => reject(silence(call))));
      const answer = (deliver: () => void, delayMs: number): void => {
        this.world.after(delayMs, () => {
          if (this.#cut.has(process.name)) return;
          process.deliver(() => settle(deliver));
        });
      };
      this.#send(process, call, (result, delayMs) => {
        if ('value' in result) answer(() => resolve(result.value), delayMs);
        else answer(() => reject(result.error), delayMs);
      });
    });
  }

  #send<Answer>(
    process: SimulatedProcess,
    call: StoreCall<Answer>,
    answer: (result: { value: Answer } | { error: unknown }, delayMs: number) => void,
  ): void {
    const { random } = this.world;
    const fault = this.#drawFault(call);
    if (fault !== 'none') this.world.note(`store ${process.name} ${call.name}: ${fault}`);
    const slowMs = random.happens(this.faults.slow) ? random.between(20, 3_000) : 0;
    const errorMs = random.happens(0.5) ? random.between(1, 1_500) : Number.NaN;
    const unknown = (): void => {
      // Without this answer, the driver times out.
      if (!Number.isNaN(errorMs)) answer({ error: silence(call) }, errorMs);
    };
    const arrive = (): void => {
      switch (fault) {
        case 'none':
          this.#execute(call, true, (result) => answer(result, this.#travelMs()));
          return;
        case 'refused':
          answer({ error: refused(call) }, this.#travelMs());
          return;
        case 'answerLost':
          this.#execute(call, false, unknown);
          return;
        case 'executedLate':
          unknown();
          this.world.after(random.between(LATE_MS.from, LATE_MS.to), () => {
            this.world.note(`store ${process.name} ${call.name}: executed now`);
            this.#execute(call, false, () => undefined);
          });
          return;
        case 'swallowed':
          return;
      }
    };
    this.world.after(this.#travelMs() + slowMs, () => {
      if (this.#cut.has(process.name)) return;
      this.#unlessStalled(arrive);
    });
  }

  #unlessStalled(arrive: () => void): void {
    const leftMs = this.#stalledUntilMs - this.world.nowMs;
    const again = () => this.#unlessStalled(arrive);
    if (leftMs > 0) this.world.after(leftMs + this.world.random.between(0, 30), again);
    else arrive();
  }

  #execute<Answer>(
    call: StoreCall<Answer>,
    isAnswered: boolean,
    then: (result: { value: Answer } | { error: unknown }) => void,
  ): void {
    call.execute().then(
      (value) => {
        call.onLeft?.(isAnswered);
        then({ value });
      },
      (error: unknown) => then({ error }),
    );
  }

  #travelMs(): number {
    return this.world.random.between(TRAVEL_MS.from, TRAVEL_MS.to);
  }

  #drawFault({ isWrite }: StoreCall<unknown>): CallFault {
    const { answerLost, executedLate, refused, swallowed } = this.faults;
    const total = answerLost + executedLate + refused + swallowed;
    if (total === 0) return 'none';
    const drawn = this.world.random.unit();
    if (drawn < refused) return 'refused';
    if (drawn < refused + swallowed) return 'swallowed';
    if (drawn < refused + swallowed + answerLost) return 'answerLost';
    if (drawn < total) return isWrite ? 'executedLate' : 'swallowed';
    return 'none';
  }
}

function silence({ name, isWrite }: StoreCall<unknown>): Fault {
  const text = `${name}: no answer from the store in time`;
  return new Fault('service_unavailable', text, { isOutcomeUnknown: isWrite });
}

function refused({ name }: StoreCall<unknown>): Fault {
  return new Fault('service_unavailable', `${name}: the store refused the call`);
}
