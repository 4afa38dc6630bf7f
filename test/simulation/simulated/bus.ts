import type { Bus, Listener } from '#bus/bus';
import type { SimulatedProcess } from '#test/simulation/simulated/process';
import type { World } from '#test/simulation/world';

/** Latency of a message in milliseconds. */
const TRAVEL_MS = { from: 0, to: 20 };

/** Maximum additional delay of a late announcement, in milliseconds. */
const STALE_MS_MAX = 400;

/** Delay of a duplicate after the first message, in milliseconds. */
const DOUBLE_MS = { from: 20, to: 170 };

/** Fault probabilities for each message and receiver. */
export type BusFaults = {
  readonly lost: number;
  /** An announcement arrives late. Other messages are never late. */
  readonly late: number;
  /** An announcement arrives twice. Other messages never arrive twice. */
  readonly doubled: number;
};

/** A bus without faults. */
export const NO_BUS_FAULTS: BusFaults = { lost: 0, late: 0, doubled: 0 };

type Subscription = {
  readonly process: SimulatedProcess;
  readonly subject: string;
  readonly listener: Listener;
  isOpen: boolean;
};

/** Simulated NATS server with its connections. */
export class SimulatedBus {
  readonly #world: World;
  faults: BusFaults = NO_BUS_FAULTS;
  /** Whether all processes are disconnected. */
  isDown = false;
  readonly #cut = new Set<string>();
  /** Pairs `from>to` between which no message is delivered. */
  readonly #deaf = new Set<string>();
  #subscriptions: Subscription[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /** Disconnects a process from the server, or reconnects the process. */
  setCut(processName: string, isCut: boolean): void {
    if (isCut) this.#cut.add(processName);
    else this.#cut.delete(processName);
  }

  /** Blocks delivery from `from` to `to`, like a partition between NATS servers. */
  setDeaf(from: string, to: string, isDeaf: boolean): void {
    if (isDeaf) this.#deaf.add(`${from}>${to}`);
    else this.#deaf.delete(`${from}>${to}`);
  }

  /** Ends all faults. */
  heal(): void {
    this.#cut.clear();
    this.#deaf.clear();
    this.isDown = false;
    this.faults = NO_BUS_FAULTS;
  }

  /** Bus port for a process. */
  portOf(process: SimulatedProcess): Bus {
    const bus = this;
    process.onDeath(() => {
      this.#subscriptions = this.#subscriptions.filter((other) => other.process !== process);
    });
    return {
      get isConnected() {
        return bus.#reaches(process);
      },
      publish: (subject, message) => this.#publish(process, subject, message.slice()),
      subscribe: (subject, listener) => {
        const subscription = { process, subject, listener, isOpen: true };
        this.#subscriptions.push(subscription);
        return {
          [Symbol.dispose]: () => {
            subscription.isOpen = false;
            this.#subscriptions = this.#subscriptions.filter((other) => other !== subscription);
          },
        };
      },
      [Symbol.asyncDispose]: async () => {
        this.#subscriptions = this.#subscriptions.filter((other) => other.process !== process);
      },
    };
  }

  /** Delivers a message to a process, as if it had arrived from the server. */
  deliver(process: SimulatedProcess, subject: string, message: Uint8Array): void {
    for (const subscription of [...this.#subscriptions]) {
      const { isOpen, listener } = subscription;
      if (subscription.process !== process || subscription.subject !== subject) continue;
      if (isOpen) listener(message);
    }
  }

  #reaches(process: SimulatedProcess): boolean {
    return !this.isDown && !this.#cut.has(process.name);
  }

  #publish(from: SimulatedProcess, subject: string, message: Uint8Array): void {
    if (!this.#reaches(from)) return;
    for (const subscription of this.#subscriptions) {
      if (subscription.subject === subject) this.#send(from, subscription, message);
    }
  }

  #send(from: SimulatedProcess, to: Subscription, message: Uint8Array): void {
    const { random } = this.#world;
    const { lost, late, doubled } = this.faults;
    if (this.#deaf.has(`${from.name}>${to.process.name}`) || random.happens(lost)) return;
    const isAnnouncement = to.subject.endsWith('.shard');
    const staleMs = isAnnouncement && random.happens(late) ? random.between(0, STALE_MS_MAX) : 0;
    const firstMs = staleMs + random.between(TRAVEL_MS.from, TRAVEL_MS.to);
    this.#arrive(to, message, firstMs);
    if (!isAnnouncement || !random.happens(doubled)) return;
    this.#arrive(to, message, firstMs + random.between(DOUBLE_MS.from, DOUBLE_MS.to));
  }

  #arrive(to: Subscription, message: Uint8Array, delayMs: number): void {
    this.#world.after(delayMs, () => {
      if (!this.#reaches(to.process)) return;
      to.process.deliver(() => {
        if (to.isOpen) to.listener(message);
      });
    });
  }
}
