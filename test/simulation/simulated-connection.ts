import { Fault, toFault } from '#fault/fault';
import type { SimulatedListener, SimulatedNetwork } from '#test/simulation/simulated-network';
import type { SimulatedProcess } from '#test/simulation/simulated-process';
import type { EngineAnswer, EngineCall } from '#wire/engine-messages';
import { faultFromWire, faultToWire } from '#wire/fault-codec';
import { CALL_TIMEOUT_MS_MAX } from '#wire/wire-bounds';

/** How often a connection is asked for a sign of life, and the silence that ends it, in ms. */
const KEEPALIVE_MS = 1_000;
const SILENCE_MS_MAX = 5_000;

/** Waits between attempts to connect: full jitter below a growing ceiling, as the real ones. */
const BACKOFF_MS = { first: 50, most: 2_000 };

/** Takes a failed call over; what it returns becomes the outcome. */
type Recover = (
  call: EngineCall,
  fault: Fault,
  askedAtMs: number,
) => Promise<EngineAnswer> | undefined;

type Pending = {
  readonly call: EngineCall;
  readonly askedAtMs: number;
  readonly resolve: (answer: EngineAnswer | Promise<EngineAnswer>) => void;
  readonly reject: (fault: Fault) => void;
  readonly recover: Recover | undefined;
  timer: Disposable | undefined;
};

/**
 * A stream to an address as `connectEngine` makes it: refuses at once while it is not connected,
 * loses what is in flight with the other side, notices a silent one by its silence, and comes back
 * by itself. An answer that comes after the caller's time is dropped.
 */
export class SimulatedConnection implements AsyncDisposable {
  readonly #network: SimulatedNetwork;
  readonly #process: SimulatedProcess;
  readonly #address: string;
  readonly #pending = new Set<Pending>();
  #peer: SimulatedListener | undefined;
  #heardMs = 0;
  #backoffMs = BACKOFF_MS.first;
  #isDisposed = false;
  #waiting: (() => void)[] = [];

  constructor(network: SimulatedNetwork, process: SimulatedProcess, address: string) {
    this.#network = network;
    this.#process = process;
    this.#address = address;
    this.#connect();
  }

  /** Whether the other side is connected, as far as is known. */
  get isOpen(): boolean {
    return this.#peer !== undefined;
  }

  /** Fulfils when the other side is connected. */
  ready(): Promise<void> {
    if (this.isOpen) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** As the engine connection's. */
  ask(call: EngineCall): Promise<EngineAnswer> {
    return this.#ask(call, undefined);
  }

  /** As the engine connection's: `recover` hears of a fault first. */
  askOr(call: EngineCall, recover: Recover): Promise<EngineAnswer> {
    return this.#ask(call, recover);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    this.#lose();
  }

  #ask(call: EngineCall, recover: Recover | undefined): Promise<EngineAnswer> {
    const { clock } = this.#process;
    const askedAtMs = clock.monotonicMs();
    const timeoutMs = Math.min(call.deadlineAtMs - clock.wallMs(), CALL_TIMEOUT_MS_MAX);
    const peer = this.#peer;
    const isLate = !(timeoutMs > 0);
    if (peer === undefined || isLate) {
      const fault =
        peer === undefined
          ? failed('engine_unavailable', false)
          : failed('deadline_exceeded', false);
      return recover?.(call, fault, askedAtMs) ?? Promise.reject(fault);
    }
    return new Promise((resolve, reject) => {
      const pending: Pending = { call, askedAtMs, resolve, reject, recover, timer: undefined };
      this.#pending.add(pending);
      pending.timer = clock.after(timeoutMs, () =>
        this.#fail(pending, failed('deadline_exceeded', true)),
      );
      this.#send(peer, pending, timeoutMs);
    });
  }

  #send(peer: SimulatedListener, pending: Pending, timeoutMs: number): void {
    const travelMs = this.#network.travelMs(this.#process.name, peer.process.name);
    if (travelMs === undefined) return;
    peer.process.later(travelMs, () => {
      // The deadline travels as time left, because clocks differ.
      const deadlineAtMs = peer.process.clock.wallMs() + timeoutMs;
      const answered = async () => peer.engine.ask({ ...pending.call, deadlineAtMs });
      answered().then(
        (answer) => this.#reply(peer, () => this.#settle(pending, answer)),
        (error: unknown) => {
          const fault = toFault(error);
          const wire = faultToWire(fault);
          if (fault.code === 'service_unavailable') {
            const { instanceId, operation } = pending.call;
            const what = `${operation.kind} of ${instanceId} by ${this.#process.name}`;
            this.#network.world.note(`${peer.process.name} refuses ${what}: ${fault.message}`);
          }
          this.#reply(peer, () => this.#fail(pending, faultFromWire(wire)));
        },
      );
    });
  }

  #reply(peer: SimulatedListener, deliver: () => void): void {
    const travelMs = this.#network.travelMs(peer.process.name, this.#process.name);
    if (travelMs === undefined) return;
    this.#process.later(travelMs, () => {
      if (this.#peer === peer) this.#heardMs = this.#process.clock.monotonicMs();
      deliver();
    });
  }

  #settle(pending: Pending, answer: EngineAnswer): void {
    if (!this.#pending.delete(pending)) return;
    pending.timer?.[Symbol.dispose]();
    pending.resolve(answer);
  }

  #fail(pending: Pending, fault: Fault): void {
    if (!this.#pending.delete(pending)) return;
    pending.timer?.[Symbol.dispose]();
    const recovered = pending.recover?.(pending.call, fault, pending.askedAtMs);
    if (recovered === undefined) pending.reject(fault);
    else pending.resolve(recovered);
  }

  #connect(): void {
    if (this.#isDisposed) return;
    const target = this.#network.listenerAt(this.#address);
    const name = target?.process.name ?? this.#address;
    const travelMs = this.#network.travelMs(this.#process.name, name);
    const retry = () => {
      const waitMs = this.#process.random.between(0, this.#backoffMs);
      this.#backoffMs = Math.min(2 * this.#backoffMs, BACKOFF_MS.most);
      this.#process.clock.after(waitMs, () => this.#connect());
    };
    const isSilent =
      travelMs === undefined ||
      target?.process.isPaused === true ||
      this.#network.isCut(this.#process.name, name);
    this.#process.clock.after(isSilent ? 3_000 : 2 * travelMs, () => {
      const listener = this.#network.listenerAt(this.#address);
      if (this.#isDisposed) return;
      if (isSilent || listener === undefined || listener.process.isPaused) return retry();
      this.#open(listener);
    });
  }

  #open(peer: SimulatedListener): void {
    this.#peer = peer;
    this.#backoffMs = BACKOFF_MS.first;
    this.#heardMs = this.#process.clock.monotonicMs();
    for (const resolve of this.#waiting.splice(0)) resolve();
    peer.process.onDeath(() => {
      // The kernel of the dead one resets the connection.
      const travelMs = this.#network.travelMs(peer.process.name, this.#process.name);
      if (travelMs === undefined) return;
      this.#process.later(travelMs, () => this.#lost(peer));
    });
    this.#keepAlive(peer);
  }

  #keepAlive(peer: SimulatedListener): void {
    const { clock, name } = this.#process;
    clock.after(KEEPALIVE_MS, () => {
      if (this.#peer !== peer) return;
      const isAnswering = !peer.process.isPaused && !peer.process.isDead;
      if (isAnswering && !this.#network.isCut(name, peer.process.name)) {
        this.#heardMs = clock.monotonicMs();
      }
      if (clock.monotonicMs() - this.#heardMs >= SILENCE_MS_MAX) return this.#lost(peer);
      this.#keepAlive(peer);
    });
  }

  #lost(peer: SimulatedListener): void {
    if (this.#peer !== peer) return;
    this.#lose();
    this.#connect();
  }

  #lose(): void {
    this.#peer = undefined;
    for (const pending of [...this.#pending]) {
      this.#fail(pending, failed('engine_unavailable', true));
    }
  }
}

function failed(reason: 'engine_unavailable' | 'deadline_exceeded', isOutcomeUnknown: boolean) {
  return new Fault('service_unavailable', 'the call failed', { reason, isOutcomeUnknown });
}
