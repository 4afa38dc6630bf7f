import type { ProbeAim, Probed } from '#cluster/failure-evidence';
import type { SimulatedListener } from '#test/simulation/simulated/listener';
import type { SimulatedProcess } from '#test/simulation/simulated/process';
import type { World } from '#test/simulation/world';

/** Latency of a message between two processes, in milliseconds. */
const TRAVEL_MS = { from: 0.05, to: 1 };

/** Latency of a slow message, in milliseconds. */
const SLOW_MS = { from: 5, to: 800 };

/** Fault probabilities for each message. */
export type NetworkFaults = { readonly lost: number; readonly slow: number };

/** A network without faults. */
export const NO_NETWORK_FAULTS: NetworkFaults = { lost: 0, slow: 0 };

/** Simulated network: listeners, latency and partitions. */
export class SimulatedNetwork {
  readonly world: World;
  faults: NetworkFaults = NO_NETWORK_FAULTS;
  readonly #listeners = new Map<string, SimulatedListener>();
  /** Blocked directions as `from>to`, with process names. */
  readonly #cut = new Set<string>();

  constructor(world: World) {
    this.world = world;
  }

  /** Registers a listener at an address until its process ends. */
  listen(address: string, listener: SimulatedListener): void {
    this.#listeners.set(address, listener);
    listener.process.onDeath(() => {
      if (this.#listeners.get(address) === listener) this.#listeners.delete(address);
    });
  }

  /** Listener at an address. */
  listenerAt(address: string): SimulatedListener | undefined {
    return this.#listeners.get(address);
  }

  /** Blocks or unblocks messages in one direction. */
  setCut(from: string, to: string, isCut: boolean): void {
    if (isCut) this.#cut.add(`${from}>${to}`);
    else this.#cut.delete(`${from}>${to}`);
  }

  /** Whether messages between two processes are blocked in either direction. */
  isCut(one: string, other: string): boolean {
    return this.#cut.has(`${one}>${other}`) || this.#cut.has(`${other}>${one}`);
  }

  /** Ends all faults. */
  heal(): void {
    this.#cut.clear();
    this.faults = NO_NETWORK_FAULTS;
  }

  /** Latency of the next message in ms; undefined if the message is lost. */
  travelMs(from: string, to: string): number | undefined {
    const { random } = this.world;
    if (this.#cut.has(`${from}>${to}`) || random.happens(this.faults.lost)) return undefined;
    const { from: least, to: most } = random.happens(this.faults.slow) ? SLOW_MS : TRAVEL_MS;
    return random.between(least, most);
  }

  /** Connects to an address, to find out whether a process listens and with which incarnation. */
  probe(
    process: SimulatedProcess,
    address: string,
    aim: ProbeAim,
    timeoutMs: number,
  ): Promise<Probed> {
    return new Promise((resolve) => {
      const timer = process.clock.after(timeoutMs, () => resolve({ kind: 'silent' }));
      const answer = (result: Probed, from: string): void => {
        const backMs = this.travelMs(from, process.name);
        if (backMs === undefined) return;
        process.later(backMs, () => {
          timer[Symbol.dispose]();
          resolve(result);
        });
      };
      const there = this.#listeners.get(address);
      const goMs = this.travelMs(process.name, there?.process.name ?? address);
      if (goMs === undefined) return;
      this.world.after(goMs, () => {
        const listener = this.#listeners.get(address);
        if (listener === undefined) return answer({ kind: 'refused' }, address);
        // The kernel accepts connections even for a stopped process.
        if (aim === 'listener') return answer({ kind: 'listening' }, listener.process.name);
        listener.process.deliver(() => {
          const incarnation = listener.incarnation();
          if (incarnation === undefined) return;
          answer({ kind: 'answered', incarnation }, listener.process.name);
        });
      });
    });
  }
}
