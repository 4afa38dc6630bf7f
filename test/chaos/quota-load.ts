import { setTimeout as sleep } from 'node:timers/promises';
import type { NewAccount } from '#deploy/local/new-account';
import type { Call, Outcome, Requested } from '#test/chaos/call-log';
import { markOf } from '#test/chaos/call-log';
import { type CallPorts, carryOut, type Patience } from '#test/chaos/carry-out';
import { isRetried } from '#test/chaos/outcome-of';

/** Who wants how much of one account's quota, and what is done to its limiters meanwhile. */
export type QuotaDemand = {
  /** Cycles of the account's month. */
  readonly quota: number;
  readonly clients: number;
  /** Of all clients together: more than there are. */
  readonly cyclesWanted: number;
  readonly cyclesPerSecond: number;
  /** Observations that a call carries, 1 to 100. */
  readonly cyclesPerCall: number;
  /** How often the limiter that owns the account is killed while the quota lasts. */
  readonly kills: number;
  /** The least share of the quota that must be used in spite of that. */
  readonly shareMin: number;
};

/** What a load on a quota needs. */
export type QuotaPorts = CallPorts & { readonly account: NewAccount };

/** A client that is refused for the time being asks again for a minute. */
const PATIENCE: Patience = { isAgain: isRefusedForNow, msMax: 60_000, pauseMs: 200 };

/** Observations of one instance are 2 s apart, from this long before the run on. */
const STEP_MS = 2_000;
const BEFORE_MS = 30 * 24 * 60 * 60 * 1_000;

/** What every instance begins with; nothing here depends on it. */
const HALF = 0.5;
const MODES = 7;

/**
 * Clients that use up the quota of one account, each on an instance of its own. Together they want that
 * many cycles a second, each does one thing at a time, and who is late catches up. What is refused
 * because no limiter or edge is there has not happened, and is asked for again.
 */
export class QuotaLoad {
  readonly #ports: QuotaPorts;
  readonly #demand: QuotaDemand;
  readonly #sinceMs = Date.now() - BEFORE_MS;
  /** Cycles that clients have wanted so far, and those that were acknowledged. */
  wanted = 0;
  acknowledged = 0;
  /** The clients that were refused because the quota is used up. */
  readonly refused = new Set<number>();
  /** Monotonic milliseconds: the first call, the first such answer, the end. */
  fromMs = 0;
  usedUpMs: number | undefined;
  toMs = 0;
  isOver = false;

  constructor(ports: QuotaPorts, demand: QuotaDemand) {
    this.#ports = ports;
    this.#demand = demand;
  }

  /** Fulfils when the clients have wanted everything; rejects when one gets an answer that cannot be. */
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
    if (call.instance === '') throw new Error(`no instance: ${JSON.stringify(call.outcome)}`);
    return call.instance;
  }

  async #want(number: number, instance: string): Promise<void> {
    const { clients, cyclesPerCall, cyclesPerSecond, cyclesWanted } = this.#demand;
    const everyMs = (1_000 * clients * cyclesPerCall) / cyclesPerSecond;
    // Each at a moment of its own: the limiter reserves ahead what it is asked for in a tenth of a
    // second, and a crash in a burst that only this load makes would cost more.
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
    throw new Error(`an answer to client ${number} that cannot be: ${JSON.stringify(outcome)}`);
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
