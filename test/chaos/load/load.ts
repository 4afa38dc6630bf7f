import { setTimeout as sleep } from 'node:timers/promises';
import type { NewAccount } from '#deploy/local/new-account';
import { type CallPorts, carryOut } from '#test/chaos/faults/carry-out';
import type { Chance } from '#test/chaos/faults/chance';
import type { Call, Requested } from '#test/chaos/load/call-log';
import { isRetried } from '#test/chaos/load/outcome-of';
import { type KnownInstance, Requests } from '#test/chaos/load/requests';

/** Share of create, process and reset calls with an `Idempotency-Key`. */
const KEYED = 0.25;

/** Time after the first attempt until which calls with a key are retried, in milliseconds. */
const RETRY_MS_MAX = 40_000;

/** Pause between attempts, in milliseconds. */
const RETRY_PAUSE_MS = 500;

/** Maximum calls in flight. Further calls are not sent. */
const IN_FLIGHT_MAX = 8_000;

/**
 * Maximum number of further picks while the picked instance has a call in flight. Most agents make
 * one call at a time.
 */
const PICKS = 4;

/** Share of calls on deleted instances. */
const TO_DELETED = 0.003;

/** Dependencies of `Load`. */
export type LoadPorts = CallPorts & {
  readonly chance: Chance;
  readonly accounts: readonly NewAccount[];
};

/**
 * Open-model load: calls start at a given rate, whether or not earlier calls are answered, like
 * calls to a real service during an outage. The log receives every call and its outcome.
 */
export class Load {
  readonly #ports: LoadPorts;
  readonly #requests: Requests;
  readonly #instances: KnownInstance[] = [];
  readonly #deleted: KnownInstance[] = [];
  readonly #pending = new Set<Promise<void>>();
  #isEnding = false;
  /** Calls not sent, because too many calls were in flight. */
  unsent = 0;

  constructor(ports: LoadPorts) {
    this.#ports = ports;
    this.#requests = new Requests(ports.chance, Date.now());
  }

  /** Calls in flight. */
  get inFlight(): number {
    return this.#pending.size;
  }

  /** Created instances that are not deleted. */
  get instances(): number {
    return this.#instances.length;
  }

  /** Creates instances before the load starts. */
  async prepare(count: number): Promise<void> {
    let left = count;
    const worker = async () => {
      for (; left > 0; await sleep(0)) {
        left -= 1;
        await this.#create(performance.now());
      }
    };
    await Promise.all(Array.from({ length: 16 }, worker));
  }

  /** Starts calls at random times, `perSecond` on average, until `stop`. */
  async run(perSecond: number): Promise<void> {
    const { chance } = this.#ports;
    let dueMs = performance.now();
    while (!this.#isEnding) {
      while (dueMs <= performance.now()) {
        this.#arrive(dueMs);
        dueMs += (-Math.log(1 - chance.next()) * 1_000) / perSecond;
      }
      await sleep(Math.max(1, dueMs - performance.now()));
    }
  }

  /** Starts no further calls and waits for all calls in flight. */
  async stop(): Promise<void> {
    this.#isEnding = true;
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  #arrive(dueMs: number): void {
    if (this.#pending.size >= IN_FLIGHT_MAX) {
      this.unsent += 1;
      return;
    }
    const call = this.#next(dueMs).finally(() => this.#pending.delete(call));
    this.#pending.add(call);
  }

  #next(dueMs: number): Promise<void> {
    const { chance, log } = this.#ports;
    const kind = this.#requests.kind();
    const isLate = chance.happens(TO_DELETED);
    const instance = (isLate ? chance.pick(this.#deleted) : undefined) ?? this.#pick();
    if (kind === 'create' || instance === undefined) return this.#create(dueMs);
    const requested = this.#requests.use(kind, log.nextId, instance);
    if (kind === 'remove') this.#forget(instance);
    return this.#use(instance, requested, dueMs);
  }

  async #create(dueMs: number): Promise<void> {
    const { accounts, chance, log } = this.#ports;
    const account = accounts[chance.below(accounts.length)];
    if (account === undefined) throw new Error('the load has no accounts');
    const { accountId } = account;
    const call = await this.#carryOut(account, '', this.#requests.create(log.nextId), dueMs);
    if (call.instance !== '') {
      this.#instances.push({ id: call.instance, accountId, sent: 0, inFlight: 0 });
    }
  }

  async #use(instance: KnownInstance, requested: Requested, dueMs: number): Promise<void> {
    const account = this.#ports.accounts.find(({ accountId }) => accountId === instance.accountId);
    if (account === undefined) throw new Error(`the load has no account ${instance.accountId}`);
    instance.inFlight += 1;
    await this.#carryOut(account, instance.id, requested, dueMs);
    instance.inFlight -= 1;
  }

  #carryOut(
    account: NewAccount,
    instance: string,
    requested: Requested,
    dueMs: number,
  ): Promise<Call> {
    const { chance } = this.#ports;
    const isKeyable =
      requested.kind === 'create' || requested.kind === 'process' || requested.kind === 'reset';
    const key = isKeyable && chance.happens(KEYED) ? chance.uuidV7(Date.now()) : undefined;
    const msMax = key === undefined ? 0 : RETRY_MS_MAX;
    const patience = { isAgain: isRetried, msMax, pauseMs: RETRY_PAUSE_MS };
    return carryOut(this.#ports, { account, instance, requested, key, dueMs }, patience);
  }

  #pick(): KnownInstance | undefined {
    const { chance } = this.#ports;
    let picked = chance.pick(this.#instances);
    for (let left = PICKS; left > 0 && (picked?.inFlight ?? 0) > 0; left -= 1) {
      picked = chance.pick(this.#instances);
    }
    return picked;
  }

  #forget(instance: KnownInstance): void {
    const place = this.#instances.indexOf(instance);
    if (place >= 0) this.#instances.splice(place, 1);
    this.#deleted.push(instance);
  }
}
