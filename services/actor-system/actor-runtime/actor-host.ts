import { type Activation, HostedTurn, type Waiting } from '#actor-runtime/activation';
import { ActivationCatalog, type Residency } from '#actor-runtime/activation-catalog';
import { REPLAY_LOOK_MS } from '#actor-runtime/actor-bounds';
import type { ActorCall, ActorKind } from '#actor-runtime/actor-kind';
import type {
  ActorHostConfig,
  ActorHostPorts,
  ServedUntil,
  ShardGate,
} from '#actor-runtime/host-ports';
import { replay } from '#actor-runtime/replay';
import type { FaultReason } from '#errors/error-reasons';
import { Fault, faultFor } from '#errors/fault';
import { instantOf, sleep } from '#stdlib/clock';

/**
 * Runs the actors of one kind. The host finds or loads the actor of a call, gives the actor one
 * turn at a time, and releases the answer when its durability dependency is met. If the actor is
 * idle and the journal makes records durable synchronously, the host also answers synchronously,
 * without a promise (architecture 8).
 */
export class ActorHost<State, Call extends ActorCall, Answer, Event> {
  readonly #kind: ActorKind<State, Call, Answer, Event>;
  readonly #ports: ActorHostPorts;
  readonly #catalog: ActivationCatalog<State, Call, Answer, Event>;
  #isClosing = false;

  constructor(
    kind: ActorKind<State, Call, Answer, Event>,
    config: ActorHostConfig,
    ports: ActorHostPorts,
  ) {
    this.#kind = kind;
    this.#ports = ports;
    this.#catalog = new ActivationCatalog(kind, config, ports);
  }

  /**
   * Delivers a call to the actor `id`. The answer arrives when it is durable.
   *
   * Throws or rejects with the faults of the kind. Throws or rejects with `service_unavailable`
   * when a bound is reached, the deadline passes before the turn, or the process is closing. The
   * call then has had no effect.
   */
  ask(id: string, call: Call): Answer | Promise<Answer> {
    const { gate } = this.#ports;
    const activation = this.#catalog.find(id);
    const shard = activation?.shard ?? gate.shardOf(id);
    gate.assertOpen(shard, this.#kind.servedUntil);
    this.#assertOpen();
    if (activation === undefined) return this.#enqueue(this.#activate(id, shard), call);
    if (activation.isBusy) return this.#enqueue(activation, call);
    return this.#turn(activation, call);
  }

  /** Like `ask` if the actor is in memory or loading; otherwise undefined. */
  askResident(id: string, call: Call): Answer | Promise<Answer> | undefined {
    return this.#catalog.find(id) === undefined ? undefined : this.ask(id, call);
  }

  /**
   * Reads the state of an actor between turns, without loading the actor. Returns undefined if the
   * actor is not in memory. The state may not be durable yet.
   */
  readUnconfirmed<T>(id: string, read: (state: State, version: number) => T): T | undefined {
    const activation = this.#catalog.find(id);
    return activation?.state === undefined ? undefined : read(activation.state, activation.version);
  }

  /**
   * Like `readUnconfirmed`, but fulfils when the state is durable and this node is still the owner.
   */
  async read<T>(id: string, read: (state: State) => T): Promise<T | undefined> {
    const offset = this.#catalog.find(id)?.offset;
    const found = this.readUnconfirmed(id, read);
    if (found === undefined || offset === undefined) return undefined;
    const { log } = this.#ports;
    await log.whenDurable(offset);
    if (!log.isLeased()) await log.whenConfirmed();
    return found;
  }

  /** Phase of a closing shard up to which the actors serve. */
  get servedUntil(): ServedUntil {
    return this.#kind.servedUntil ?? 'closing';
  }

  /** Name of the kind of the actors in this host. */
  get kind(): string {
    return this.#kind.name;
  }

  /**
   * Starts loading an actor of an open shard, so that the actor replays its recovered records. Does
   * nothing if the actor is in memory or there is no room.
   */
  activateEagerly(id: string): void {
    if (!this.#catalog.hasRoomForReplay) return;
    if (this.#catalog.find(id) === undefined) this.#activate(id, this.#ports.gate.shardOf(id));
  }

  /** Whether an actor is in memory, and not only loading. Throws like `ask`. */
  isLoaded(id: string): boolean {
    const { gate } = this.#ports;
    gate.assertOpen(gate.shardOf(id), this.#kind.servedUntil);
    this.#assertOpen();
    return this.#catalog.find(id)?.state !== undefined;
  }

  /** Number of a shard's actors that are busy or have waiting calls. */
  busyIn(shard: number): number {
    return this.#catalog.ofShard(shard).filter(({ isBusy, isWaitedFor }) => isBusy || isWaitedFor)
      .length;
  }

  /** Fulfils when the present notices of a shard's actors are sent. Rejects after 10 s. */
  async whenSent(shard: number): Promise<void> {
    await this.#catalog.whenSent(shard);
  }

  /** Stores most unstored changes of a shard while its actors keep serving. */
  async storeAhead(shard: number): Promise<void> {
    await this.#catalog.storeAhead(shard);
  }

  /**
   * Reports that this process refuses calls for a shard, and commits the closing events of the
   * shard's actors. Throws when nothing can be committed.
   */
  closeShard(shard: number): void {
    this.#ports.onLeft?.(shard);
    this.#catalog.closeShard(shard);
  }

  /** Stores all unstored changes of a shard. Rejects if a write fails. */
  async storeShard(shard: number): Promise<void> {
    await this.#catalog.storeShard(shard);
  }

  /** Removes a shard's actors from memory: another node owns them, or will soon. */
  dropShard(shard: number): void {
    this.#catalog.dropShard(shard);
  }

  /**
   * Ends without a checkpoint: the journal has ended, and other nodes recover the changes from it.
   */
  abandon(): void {
    this.#isClosing = true;
    this.#ports.onLeft?.(undefined);
    this.#ports.outbox?.end();
    this.#catalog.abandon();
  }

  /** Number and approximate bytes of the actors in memory. */
  get residency(): Residency {
    return this.#catalog.totals;
  }

  /** Age of the oldest unstored record, in milliseconds; undefined if every record is stored. */
  get unstoredForMs(): number | undefined {
    const { oldestMs } = this.#catalog.dirty;
    return oldestMs === undefined ? undefined : this.#ports.clock.monotonicMs() - oldestMs;
  }

  /** Refuses new calls, then stores all durable changes. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    this.#ports.onLeft?.(undefined);
    await this.#catalog[Symbol.asyncDispose]();
  }

  #assertOpen(): void {
    if (this.#isClosing) throw unavailable('shutting_down', 'the service is shutting down');
    if (!this.#catalog.isFull) return;
    throw unavailable('overloaded', 'too many changes are waiting to be stored');
  }

  #activate(id: string, shard: number): Activation<State, Call, Answer> {
    const activation = this.#catalog.add(id, shard);
    this.#load(activation).catch((fault: unknown) => {
      if (!(fault instanceof Fault)) this.#ports.onBug(fault);
      this.#catalog.remove(activation);
      for (let next = activation.dequeue(); next !== undefined; next = activation.dequeue()) {
        next.reject(fault);
      }
    });
    return activation;
  }

  /**
   * Loads the stored head, then replays the records that the head lacks, in order (architecture
   * 3.3).
   */
  async #load(activation: Activation<State, Call, Answer>): Promise<void> {
    const { clock, gate, metrics } = this.#ports;
    const startedMs = clock.monotonicMs();
    const recovered = await this.#kind.activate(activation.id);
    while (this.#waitsForRoom(activation)) await sleep(clock, REPLAY_LOOK_MS);
    // The shard may have moved to another node during the load. This node may no longer answer.
    if (!this.#catalog.has(activation))
      throw unavailable('engine_unavailable', 'the actor has moved');
    activation.state = recovered.state;
    activation.version = recovered.version;
    const now = instantOf(clock);
    if (recovered.recentCalls.length > 0) activation.recent.restore(recovered.recentCalls, now);
    const tail = gate.tailOf(activation.shard, this.#kind.name, activation.id);
    if (tail !== undefined) {
      const { dirty } = this.#catalog;
      replay(this.#kind, activation, recovered.state, tail, now, dirty, this.#ports.outbox);
      gate.activated(activation.shard, this.#kind.name, activation.id);
    }
    metrics.activated((clock.monotonicMs() - startedMs) / 1_000);
    this.#release(activation);
  }

  /** Whether recovered records of the actor still wait for room. */
  #waitsForRoom(activation: Activation<State, Call, Answer>): boolean {
    if (this.#catalog.hasRoomForReplay || !this.#catalog.has(activation)) return false;
    const { shard, id } = activation;
    return this.#ports.gate.tailOf(shard, this.#kind.name, id) !== undefined;
  }

  #enqueue(activation: Activation<State, Call, Answer>, call: Call): Promise<Answer> {
    const sinceMs = this.#ports.clock.monotonicMs();
    return new Promise((resolve, reject) => {
      activation.enqueue({ call, sinceMs, resolve, reject });
    });
  }

  /** Ends a busy period: waiting calls get their turns until a turn makes the actor busy again. */
  #release(activation: Activation<State, Call, Answer>): void {
    activation.isBusy = false;
    while (!activation.isBusy) {
      const next = activation.dequeue();
      if (next === undefined) break;
      this.#turnOf(activation, next);
    }
    this.#catalog.endTurn(activation);
  }

  #turnOf(activation: Activation<State, Call, Answer>, waiting: Waiting<Call, Answer>): void {
    const waitedMs = this.#ports.clock.monotonicMs() - waiting.sinceMs;
    this.#ports.metrics.mailboxWaited(waitedMs / 1_000);
    try {
      waiting.resolve(this.#turn(activation, waiting.call));
    } catch (refusal) {
      waiting.reject(refusal);
    }
  }

  #turn(activation: Activation<State, Call, Answer>, call: Call): Answer | Promise<Answer> {
    const { clock, log, outbox } = this.#ports;
    const book = this.#catalog.dirty;
    const turn = new HostedTurn(this.#kind, activation, call, clock, log, book, outbox);
    this.#catalog.use(activation, turn.monotonicMs);
    try {
      if (call.deadlineAtMs < turn.wallMs) {
        throw unavailable('deadline_exceeded', 'the deadline passed before the call had its turn');
      }
      const answer = this.#kind.receive(turn.state, call, turn);
      if (answer instanceof Promise) {
        return this.#finishLater(activation, turn, answer, call.traceparent);
      }
      return this.#held(activation, turn, answer);
    } catch (refusal) {
      return this.#refused(activation, turn, refusal, call.traceparent);
    } finally {
      if (!activation.isBusy) this.#catalog.endTurn(activation);
    }
  }

  /**
   * Returns the answer immediately if all its dependencies are durable. Otherwise returns a promise
   * that fulfils with the answer when they are durable.
   */
  #held(
    activation: Activation<State, Call, Answer>,
    turn: HostedTurn<State, Call, Answer, Event>,
    answer: Answer,
  ): Answer | Promise<Answer> {
    if (turn.isAnswerable) return answer;
    return turn.whenAnswerable(activation.offset).then(() => answer);
  }

  /** A refusal depends on the state too, so it waits like any answer (architecture 3.1). */
  #refused(
    activation: Activation<State, Call, Answer>,
    turn: HostedTurn<State, Call, Answer, Event>,
    refusal: unknown,
    traceparent: string | undefined,
  ): Promise<Answer> {
    if (!(refusal instanceof Fault)) this.#ports.onBug(refusal, traceparent);
    if (turn.isAnswerable) throw refusal;
    return this.#refusedLater(turn.whenAnswerable(activation.offset), refusal);
  }

  /** A refused call has no effect, even if the journal ends before the refusal is sent. */
  async #refusedLater(answerable: Promise<void>, refusal: unknown): Promise<never> {
    await answerable.catch(() => this.#ports.log.assertOpen());
    throw refusal;
  }

  async #finishLater(
    activation: Activation<State, Call, Answer>,
    turn: HostedTurn<State, Call, Answer, Event>,
    pending: Promise<Answer>,
    traceparent: string | undefined,
  ): Promise<Answer> {
    activation.isBusy = true;
    let outcome: { answer: Answer } | { refusal: unknown };
    try {
      outcome = { answer: await pending };
    } catch (refusal) {
      outcome = { refusal };
    }
    const offset = activation.offset;
    this.#release(activation);
    if ('refusal' in outcome) {
      if (!(outcome.refusal instanceof Fault)) this.#ports.onBug(outcome.refusal, traceparent);
      return this.#refusedLater(turn.whenAnswerable(offset), outcome.refusal);
    }
    await turn.whenAnswerable(offset);
    return outcome.answer;
  }
}

function unavailable(reason: FaultReason, text: string): Fault {
  return faultFor(reason, text, { retryAfterS: 1 });
}

/** Memory use and unstored records of several hosts. */
export type HostLoad = {
  readonly actors: number;
  readonly actorBytes: number;
  readonly unstoredRecords: number;
  readonly oldestUnstoredMs: number | undefined;
};

/** Totals over the hosts of one process. */
export function hostLoad(
  hosts: readonly { readonly residency: Residency; readonly unstoredForMs: number | undefined }[],
): HostLoad {
  const ages = hosts.map((host) => host.unstoredForMs).filter((age) => age !== undefined);
  const sum = (of: (residency: Residency) => number) =>
    hosts.reduce((total, { residency }) => total + of(residency), 0);
  return {
    actors: sum(({ actors }) => actors),
    actorBytes: sum(({ bytes }) => bytes),
    unstoredRecords: sum(({ unflushedRecords }) => unflushedRecords),
    oldestUnstoredMs: ages.length === 0 ? undefined : Math.round(Math.max(...ages)),
  };
}

/** Shard gate of a process without a cluster. Such a process owns all actors. */
export const ONE_SHARD: ShardGate = {
  shardOf: () => 0,
  assertOpen: () => undefined,
  isClosing: () => false,
  tailOf: () => undefined,
  activated: () => undefined,
};
