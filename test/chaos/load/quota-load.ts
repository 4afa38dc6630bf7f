import { setTimeout as sleep } from 'node:timers/promises';
import type { NewAccount } from '#deploy/local/new-account';
import { type CallPorts, carryOut, type Patience } from '#test/chaos/faults/carry-out';
import type { Call, Outcome, Requested } from '#test/chaos/load/call-log';
import { markOf } from '#test/chaos/load/call-log';
import { isRetried } from '#test/chaos/load/outcome-of';

/** Parameters of a quota run: load on one account, and kills of its limiter. */
export type QuotaDemand = {
  /** Monthly quota of the account, in cycles. */
  readonly quota: number;
  readonly clients: number;
  /** Total cycles that clients request, more than the quota. */
  readonly cyclesWanted: number;
  readonly cyclesPerSecond: number;
  /** Observations per call, 1 to 100. */
  readonly cyclesPerCall: number;
  /** Number of kills of the limiter that owns the account, before the quota is used up. */
  readonly kills: number;
  /** Minimum share of the quota that the clients must be able to use. */
  readonly shareMin: number;
};

/** Dependencies of a quota load. */
export type QuotaPorts = CallPorts & { readonly account: NewAccount };

/** Clients retry temporary refusals for a minute. */
const PATIENCE: Patience = { isAgain: isRefusedForNow, msMax: 60_000, pauseMs: 200 };

/** Interval between the observations of an instance, in milliseconds. */
const STEP_MS = 2_000;

/** Time from the first observation to the start of the run, in milliseconds. */
const BEFORE_MS = 30 * 24 * 60 * 60 * 1_000;

/** Initial strength of every mode, and initial energy level; arbitrary. */
const HALF = 0.5;
const MODES = 7;

/**
 * Clients that use up the quota of one account. Each client makes sequential calls on its own
 * instance. All clients together send at a fixed rate, and a delayed client catches up. Clients
 * retry calls that the service refuses temporarily, for example without a limiter.
 */
export class QuotaLoad {
  readonly #ports: QuotaPorts;
  readonly #demand: QuotaDemand;
  readonly #sinceMs = Date.now() - BEFORE_MS;
  /** Number of cycles requested so far. */
  wanted = 0;
  /** Number of cycles acknowledged so far. */
  acknowledged = 0;
  /** Numbers of the clients that were refused because the quota is used up. */
  readonly refused = new Set<number>();
  /** Time of the first observation, in monotonic milliseconds. */
  fromMs = 0;
  /** Time of the first refusal because the quota is used up, in monotonic milliseconds. */
  usedUpMs: number | undefined;
  /** End of the load, in monotonic milliseconds. */
  toMs = 0;
  isOver = false;

  constructor(ports: QuotaPorts, demand: QuotaDemand) {
    this.#ports = ports;
    this.#demand = demand;
  }

  /** Resolves after the last call. Rejects if an answer violates the API. */
  async run(): Promise<void> {
    const numbers = Array.from({ length: this.#demand.clients }, (_, number) => number);
    try {
      const instances = await Promise.all(numbers.map(() => this.#create()));
      this.fromMs = performance.now();
      await Promise.all(instances.map((instance, number) => this.#want(number, instance)));
    } finally {
      this.toMs = performance.now();
      this.isOver = true;
    }
  }

  async #create(): Promise<string> {
    const name = `n${this.#ports.log.nextId}`;
    const modeStrengths = Array.from({ length: MODES }, () => HALF);
    const requested: Requested = { kind: 'create', name, modeStrengths, energyLevel: HALF };
    const call = await this.#carryOut(requested, '', performance.now());
    if (call.instance === '') throw new Error(`the create failed: ${JSON.stringify(call.outcome)}`);
    return call.instance;
  }

  async #want(number: number, instance: string): Promise<void> {
    const { clients, cyclesPerCall, cyclesPerSecond, cyclesWanted } = this.#demand;
    const everyMs = (1_000 * clients * cyclesPerCall) / cyclesPerSecond;
    // Stagger the clients, because the limiter pre-allocates the demand for 100 ms. After a
    // synchronized burst, a crash would lose more cycles.
    let dueMs = this.fromMs + (number / clients) * everyMs;
    for (let sent = 0; sent < cyclesWanted / clients && !this.isOver; sent += cyclesPerCall) {
      await sleep(Math.max(0, dueMs - performance.now()));
      this.wanted += cyclesPerCall;
      const { outcome } = await this.#carryOut(this.#observations(sent), instance, dueMs);
      this.#note(number, outcome);
      dueMs += everyMs;
    }
  }

  #note(number: number, outcome: Outcome): void {
    switch (outcome.kind) {
      case 'acknowledged':
        this.acknowledged += this.#demand.cyclesPerCall;
        return;
      case 'unknown':
        return;
      case 'refused':
        if (outcome.reason !== 'quota_exceeded') break;
        this.usedUpMs ??= performance.now();
        this.refused.add(number);
        return;
      case 'throttled':
      case 'superseded':
    }
    throw new Error(`client ${number} got an unexpected answer: ${JSON.stringify(outcome)}`);
  }

  #observations(sent: number): Requested {
    const { cyclesPerCall } = this.#demand;
    const observations = Array.from({ length: cyclesPerCall }, (_, index) => ({
      mark: markOf(this.#ports.log.nextId, index),
      mode: (sent + index) % MODES,
      signal: 0.7,
      confidence: 0.9,
      timestampMs: this.#sinceMs + (sent + index) * STEP_MS,
    }));
    return {
      kind: 'process',
      observations,
      isBatch: cyclesPerCall > 1,
      isEveryStateWanted: false,
    };
  }

  #carryOut(requested: Requested, instance: string, dueMs: number): Promise<Call> {
    const { account } = this.#ports;
    return carryOut(this.#ports, { account, instance, requested, key: undefined, dueMs }, PATIENCE);
  }
}

function isRefusedForNow(outcome: Outcome): boolean {
  return outcome.kind === 'refused' && isRetried(outcome);
}
