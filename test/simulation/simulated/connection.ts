import assert from 'node:assert/strict';
import type { FaultReason } from '#errors/error-reasons';
import { Fault, toFault } from '#errors/fault';
import { faultFromWire, faultToWire } from '#grpc/frame';
import type { RecoverCall } from '#grpc/frame-client';
import type { SimulatedListener } from '#test/simulation/simulated/listener';
import type { SimulatedNetwork } from '#test/simulation/simulated/network';
import type { SimulatedProcess } from '#test/simulation/simulated/process';
import type { Protocol } from '#test/simulation/simulated/protocol';

/** Interval of keep-alive pings, in milliseconds. */
const KEEPALIVE_MS = 1_000;

/** Time without a message from the peer after which the connection is closed, in milliseconds. */
const SILENCE_MS_MAX = 5_000;

/** Reconnection back-off in ms, with full jitter like in `FrameClient`. */
const BACKOFF_MS = { first: 50, most: 2_000 };

type Pending<Call, Answer> = {
  readonly call: Call;
  readonly askedAtMs: number;
  readonly resolve: (answer: Answer | Promise<Answer>) => void;
  readonly reject: (fault: Fault) => void;
  readonly recover: RecoverCall<Call, Answer> | undefined;
  timer: Disposable | undefined;
};

/**
 * A stream to an address that behaves like a `FrameClient`. It refuses calls immediately while
 * disconnected, fails calls in flight when the peer dies, closes after silence, and reconnects. It
 * drops answers that arrive after the caller's deadline.
 */
export class SimulatedConnection<Call, Answer> implements AsyncDisposable {
  readonly #network: SimulatedNetwork;
  readonly #process: SimulatedProcess;
  readonly #address: string;
  readonly #protocol: Protocol<Call, Answer>;
  readonly #pending = new Set<Pending<Call, Answer>>();
  #peer: SimulatedListener | undefined;
  #heardMs = 0;
  #backoffMs = BACKOFF_MS.first;
  #isDisposed = false;
  #waiting: (() => void)[] = [];

  constructor(
    network: SimulatedNetwork,
    process: SimulatedProcess,
    address: string,
    protocol: Protocol<Call, Answer>,
  ) {
    this.#network = network;
    this.#process = process;
    this.#address = address;
    this.#protocol = protocol;
    this.#connect();
  }

  /** Whether the stream is connected. */
  get isOpen(): boolean {
    return this.#peer !== undefined;
  }

  /** Resolves when the stream is connected. */
  ready(): Promise<void> {
    if (this.isOpen) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Same contract as `FrameClient.ask`. */
  ask(call: Call, options?: { readonly timeoutMs: number }): Promise<Answer> {
    return this.#ask(call, options?.timeoutMs ?? Number.POSITIVE_INFINITY, undefined);
  }

  /** Same contract as `FrameClient.askOr`: `recover` handles a fault first. */
  askOr(call: Call, recover: RecoverCall<Call, Answer>): Promise<Answer> {
    return this.#ask(call, Number.POSITIVE_INFINITY, recover);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    this.#lose();
  }

  #ask(
    call: Call,
    timeoutMsMax: number,
    recover: RecoverCall<Call, Answer> | undefined,
  ): Promise<Answer> {
    const { clock } = this.#process;
    const { unavailable, timedOut, timeoutMsOf } = this.#protocol;
    const askedAtMs = clock.monotonicMs();
    const timeoutMs = Math.min(timeoutMsMax, timeoutMsOf(call, clock));
    const peer = this.#peer;
    if (peer === undefined || !(timeoutMs > 0)) {
      const fault = failed(peer === undefined ? unavailable : timedOut, false);
      return recover?.(call, fault, askedAtMs) ?? Promise.reject(fault);
    }
    return new Promise((resolve, reject) => {
      const pending: Pending<Call, Answer> = {
        call,
        askedAtMs,
        resolve,
        reject,
        recover,
        timer: undefined,
      };
      this.#pending.add(pending);
      pending.timer = clock.after(timeoutMs, () => this.#fail(pending, failed(timedOut, true)));
      this.#send(peer, pending, timeoutMs);
    });
  }

  #send(peer: SimulatedListener, pending: Pending<Call, Answer>, timeoutMs: number): void {
    const travelMs = this.#network.travelMs(this.#process.name, peer.process.name);
    if (travelMs === undefined) return;
    const { arriving, nameOf, serverOf } = this.#protocol;
    peer.process.later(travelMs, () => {
      const answered = async () => {
        const server = serverOf(peer);
        assert(server !== undefined, `${peer.process.name} belongs to another service`);
        return server.ask(arriving(pending.call, peer.process.clock, timeoutMs));
      };
      answered().then(
        (answer) => this.#reply(peer, () => this.#settle(pending, answer)),
        (error: unknown) => {
          const fault = toFault(error);
          const wire = faultToWire(fault);
          if (fault.code === 'service_unavailable') {
            const what = `${nameOf(pending.call)} by ${this.#process.name}`;
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

  #settle(pending: Pending<Call, Answer>, answer: Answer): void {
    if (!this.#pending.delete(pending)) return;
    pending.timer?.[Symbol.dispose]();
    pending.resolve(answer);
  }

  #fail(pending: Pending<Call, Answer>, fault: Fault): void {
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
      // The kernel of a dead process resets its connections.
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
      this.#fail(pending, failed(this.#protocol.unavailable, true));
    }
  }
}

function failed(reason: FaultReason, isOutcomeUnknown: boolean): Fault {
  return new Fault('service_unavailable', 'the call failed', { reason, isOutcomeUnknown });
}
