import type { ProbeAim, Probed } from '#cluster/failure-evidence';
import type { SimulatedListener } from '#test/simulation/simulated-listener';
import type { SimulatedProcess } from '#test/simulation/simulated-process';
import type { World } from '#test/simulation/world';

/** How long a message travels between two processes, in milliseconds. */
const TRAVEL_MS = { from: 0.05, to: 1 };

/** How long a slow one does. */
const SLOW_MS = { from: 5, to: 800 };

/** Probabilities, each per message. */
export type NetworkFaults = { readonly lost: number; readonly slow: number };

/** A network that works. */
export const NO_NETWORK_FAULTS: NetworkFaults = { lost: 0, slow: 0 };

/** The network of a world: who listens where, and who does not reach whom. */
export class SimulatedNetwork {
  readonly world: World;
  faults: NetworkFaults = NO_NETWORK_FAULTS;
  readonly #listeners = new Map<string, SimulatedListener>();
  /** `from>to` by process name. */
  readonly #cut = new Set<string>();

  constructor(world: World) {
    this.world = world;
  }

  /** Opens an address; it closes with its process and not before. */
  listen(address: string, listener: SimulatedListener): void {
    this.#listeners.set(address, listener);
    listener.process.onDeath(() => {
      if (this.#listeners.get(address) === listener) this.#listeners.delete(address);
    });
  }

  /** Who listens at an address. */
  listenerAt(address: string): SimulatedListener | undefined {
    return this.#listeners.get(address);
  }

  /** Messages from one process to another vanish, or pass again. */
  setCut(from: string, to: string, isCut: boolean): void {
    if (isCut) this.#cut.add(`${from}>${to}`);
    else this.#cut.delete(`${from}>${to}`);
  }

  /** Whether messages between two processes vanish, one way or the other. */
  isCut(one: string, other: string): boolean {
    return this.#cut.has(`${one}>${other}`) || this.#cut.has(`${other}>${one}`);
  }

  /** Everything passes again. */
  heal(): void {
    this.#cut.clear();
    this.faults = NO_NETWORK_FAULTS;
  }

  /** How long the next message takes; undefined: it is lost. */
  travelMs(from: string, to: string): number | undefined {
    const { random } = this.world;
    if (this.#cut.has(`${from}>${to}`) || random.happens(this.faults.lost)) return undefined;
    const { from: least, to: most } = random.happens(this.faults.slow) ? SLOW_MS : TRAVEL_MS;
    return random.between(least, most);
  }

  /** A fresh connect that finds out whether anybody is there, and if that is the aim who it is. */
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
        // Its kernel answers, stopped or not.
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
