import { Fault } from '#fault/fault';
import type { Activation, Waiting } from '#runtime/activation';
import type { ActorCall, ActorKind } from '#runtime/actor-kind';
import type { ActorHostConfig, ActorHostPorts } from '#runtime/host-ports';
import { HostedTurn } from '#runtime/hosted-turn';
import { Residents } from '#runtime/residents';

/**
 * Runs the actors of one kind: finds or loads the one a call is for, gives it one turn at a time,
 * and lets the answer go when what it rests on is durable. An idle actor whose journal is durable
 * at once answers synchronously, without a promise (architecture 8).
 */
export class ActorHost<State, Call extends ActorCall, Answer, Operation> {
  readonly #kind: ActorKind<State, Call, Answer, Operation>;
  readonly #ports: ActorHostPorts;
  readonly #residents: Residents<State, Call, Answer, Operation>;
  #isClosing = false;

  constructor(
    kind: ActorKind<State, Call, Answer, Operation>,
    config: ActorHostConfig,
    ports: ActorHostPorts,
  ) {
    this.#kind = kind;
    this.#ports = ports;
    this.#residents = new Residents(kind, config, ports);
  }

  /**
   * Delivers a call to the actor `id` and answers when the answer is durable. Throws or rejects
   * with the kind's faults, and with `service_unavailable` when a bound is reached, the deadline
   * has passed before the turn, or the process is closing: then nothing has happened.
   */
  ask(id: string, call: Call): Answer | Promise<Answer> {
    this.#assertOpen();
    const activation = this.#residents.use(id);
    if (activation === undefined) return this.#activateAndAsk(id, call);
    if (activation.isBusy) return this.#enqueue(activation, call);
    return this.#turn(activation, call);
  }

  /** Reads the state of an actor if it is in memory, between turns; never loads it. */
  peek<T>(id: string, read: (state: State, version: number) => T): T | undefined {
    const activation = this.#residents.find(id);
    return activation?.state === undefined ? undefined : read(activation.state, activation.version);
  }

  /** How many actors are in memory, and roughly how many bytes they hold. */
  get residency(): { actors: number; bytes: number; unflushedRecords: number } {
    return this.#residents.totals;
  }

  /** Refuses new calls, then stores everything that is durable. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    await this.#residents[Symbol.asyncDispose]();
  }

  #assertOpen(): void {
    if (this.#isClosing) throw unavailable('shutting_down', 'the service is shutting down');
    if (!this.#residents.isTailFull) return;
    throw unavailable('overloaded', 'too much is waiting to be stored');
  }

  #activateAndAsk(id: string, call: Call): Promise<Answer> {
    const activation = this.#residents.add(id);
    const answer = this.#enqueue(activation, call);
    const startedMs = this.#ports.clock.monotonicMs();
    this.#kind.activate(id).then(
      (recovered) => {
        activation.state = recovered.state;
        activation.version = recovered.version;
        this.#ports.metrics.activated((this.#ports.clock.monotonicMs() - startedMs) / 1_000);
        this.#release(activation);
      },
      (fault: unknown) => {
        this.#residents.remove(activation);
        for (let next = activation.dequeue(); next !== undefined; next = activation.dequeue()) {
          next.reject(fault);
        }
      },
    );
    return answer;
  }

  #enqueue(activation: Activation<State, Call, Answer>, call: Call): Promise<Answer> {
    const sinceMs = this.#ports.clock.monotonicMs();
    return new Promise((resolve, reject) => {
      activation.enqueue({ call, sinceMs, resolve, reject });
    });
  }

  /** Ends a busy spell: waiting calls get their turns until one of them is busy again. */
  #release(activation: Activation<State, Call, Answer>): void {
    activation.isBusy = false;
    while (!activation.isBusy) {
      const next = activation.dequeue();
      if (next === undefined) break;
      this.#turnOf(activation, next);
    }
    this.#residents.settle(activation);
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
    const { clock, log } = this.#ports;
    const turn = new HostedTurn(this.#kind, activation, call.callId, clock, log, this.#residents);
    try {
      if (call.deadlineAtMs < turn.nowMs) {
        throw unavailable('deadline_exceeded', 'the deadline passed before the call had its turn');
      }
      const answer = this.#kind.receive(turn.state, call, turn);
      if (answer instanceof Promise) return this.#finishLater(activation, turn, answer);
      return this.#held(activation, turn, answer);
    } catch (refusal) {
      return this.#refused(activation, turn, refusal);
    } finally {
      if (!activation.isBusy) this.#residents.settle(activation);
    }
  }

  /** Lets an answer go at once if all it rests on is durable, else when it is. */
  #held(
    activation: Activation<State, Call, Answer>,
    turn: HostedTurn<State, Call, Answer, Operation>,
    answer: Answer,
  ): Answer | Promise<Answer> {
    if (turn.effect === undefined && this.#ports.log.isDurable(activation.position)) return answer;
    return turn.whenAnswerable(activation.position).then(() => answer);
  }

  /** A refusal looked at state too, so it waits like any answer (architecture 3.1). */
  #refused(
    activation: Activation<State, Call, Answer>,
    turn: HostedTurn<State, Call, Answer, Operation>,
    refusal: unknown,
  ): Promise<Answer> {
    if (!(refusal instanceof Fault)) this.#ports.onBug(refusal);
    if (this.#ports.log.isDurable(activation.position)) throw refusal;
    return this.#refusedLater(turn.whenAnswerable(activation.position), refusal);
  }

  /** A refused call has not happened, also when the journal ends before the refusal may be told. */
  async #refusedLater(answerable: Promise<void>, refusal: unknown): Promise<never> {
    await answerable.catch(() => this.#ports.log.assertOpen());
    throw refusal;
  }

  async #finishLater(
    activation: Activation<State, Call, Answer>,
    turn: HostedTurn<State, Call, Answer, Operation>,
    pending: Promise<Answer>,
  ): Promise<Answer> {
    activation.isBusy = true;
    let outcome: { answer: Answer } | { refusal: unknown };
    try {
      outcome = { answer: await pending };
    } catch (refusal) {
      outcome = { refusal };
    }
    const position = activation.position;
    this.#release(activation);
    if ('refusal' in outcome) {
      if (!(outcome.refusal instanceof Fault)) this.#ports.onBug(outcome.refusal);
      return this.#refusedLater(this.#ports.log.whenDurable(position), outcome.refusal);
    }
    await turn.whenAnswerable(position);
    return outcome.answer;
  }
}

function unavailable(reason: 'overloaded' | 'shutting_down' | 'deadline_exceeded', text: string) {
  return new Fault('service_unavailable', text, { reason, retryAfterS: 1 });
}
