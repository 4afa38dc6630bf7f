import type { ConnectionEnd, Dialed, Lifeline } from '#cluster/lifelines';
import type { SimulatedListener } from '#test/simulation/simulated/listener';
import type { SimulatedProcess } from '#test/simulation/simulated/process';
import type { World } from '#test/simulation/world';

/** Latency of a message between two processes, in milliseconds. */
const TRAVEL_MS = { from: 0.05, to: 1 };

/** Latency of a slow message, in milliseconds. */
const SLOW_MS = { from: 5, to: 800 };

/** Fault probabilities for each message. */
export type NetworkFaults = { readonly lost: number; readonly slow: number };

/** Pause until the kernel of an ended process sends a FIN again, in milliseconds. */
const FIN_AGAIN_MS = 200;

/** Share of ended processes whose kernel sends an RST, because they had not read all data. */
const RESET_SHARE = 0.1;

/**
 * How new connections to a live process fail. In the first three cases, a policy refuses them, and
 * open lifelines stay (`kept`), get an RST (`reset`), or are closed by their process (`goodbye`).
 * `proxy`: the proxy of the process restarts, and sends a FIN.
 */
export type Refusal = 'kept' | 'reset' | 'goodbye' | 'proxy';

/** All refusals. */
export const REFUSALS_OF_LIVE: readonly Refusal[] = ['kept', 'reset', 'goodbye', 'proxy'];

/** Deliberate flaws in the judgement of lifelines. */
export type LifelineFlaw = 'resetIsFin' | 'goodbyeIsFin' | 'proxyIsDirect';

/** An open lifeline in the simulated network. */
type OpenLifeline = {
  readonly to: SimulatedProcess;
  readonly end: (how: ConnectionEnd) => void;
};

/** A network without faults. */
export const NO_NETWORK_FAULTS: NetworkFaults = { lost: 0, slow: 0 };

/** Simulated network: listeners, latency and partitions. */
export class SimulatedNetwork {
  readonly world: World;
  faults: NetworkFaults = NO_NETWORK_FAULTS;
  readonly #listeners = new Map<string, SimulatedListener>();
  /** Blocked directions as `from>to`, with process names. */
  readonly #cut = new Set<string>();
  /** Processes whose addresses refuse connections although the processes live. */
  readonly #refusing = new Map<string, Refusal>();
  readonly #lifelines = new Set<OpenLifeline>();
  /** Processes behind a proxy. */
  readonly #proxied = new Set<string>();
  readonly #flaw: LifelineFlaw | undefined;

  constructor(world: World, flaw?: LifelineFlaw) {
    this.world = world;
    this.#flaw = flaw;
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

  /** Puts a process behind a proxy, for ever. */
  setProxied(to: string): void {
    this.#proxied.add(to);
  }

  /** Lets other nodes' new connections to a process fail, or ends this fault. */
  setRefusing(to: string, refusal: Refusal | undefined): void {
    if (refusal === undefined) {
      this.#refusing.delete(to);
      return;
    }
    this.#refusing.set(to, refusal);
    for (const lifeline of this.#lifelines) {
      if (lifeline.to.name !== to || refusal === 'kept') continue;
      const isFin = refusal === 'proxy' || this.#flaw === `${refusal}IsFin`;
      lifeline.end(isFin ? 'closed' : 'broken');
    }
  }

  /** Ends all faults. */
  heal(): void {
    this.#cut.clear();
    this.#refusing.clear();
    this.faults = NO_NETWORK_FAULTS;
  }

  /** Latency of the next message in ms; undefined if the message is lost. */
  travelMs(from: string, to: string): number | undefined {
    const { random } = this.world;
    if (this.#cut.has(`${from}>${to}`) || random.happens(this.faults.lost)) return undefined;
    const { from: least, to: most } = random.happens(this.faults.slow) ? SLOW_MS : TRAVEL_MS;
    return random.between(least, most);
  }

  /**
   * Asks the process at an address. `answerOf` runs in that process. Resolves to undefined without
   * an answer.
   */
  ask<Answer>(
    process: SimulatedProcess,
    address: string,
    timeoutMs: number,
    answerOf: (listener: SimulatedListener) => Answer | undefined,
  ): Promise<Answer | undefined> {
    return new Promise((resolve) => {
      const timer = process.clock.after(timeoutMs, () => resolve(undefined));
      const name = this.#listeners.get(address)?.process.name ?? address;
      const goMs = this.travelMs(process.name, name);
      if (goMs === undefined || this.#refusing.has(name)) return;
      this.world.after(goMs, () => {
        const listener = this.#listeners.get(address);
        listener?.process.deliver(() => {
          const answer = answerOf(listener);
          const backMs = this.travelMs(listener.process.name, process.name);
          if (answer === undefined || backMs === undefined) return;
          process.later(backMs, () => {
            timer[Symbol.dispose]();
            resolve(answer);
          });
        });
      });
    });
  }

  /** Connects to an address, and asks for the incarnation there. */
  dial(process: SimulatedProcess, address: string, timeoutMs: number): Promise<Dialed> {
    return new Promise((resolve) => {
      let isLate = false;
      const timer = process.clock.after(timeoutMs, () => {
        isLate = true;
        resolve({ kind: 'silent' });
      });
      const answer = (from: string, result: () => Dialed): void => {
        const backMs = this.travelMs(from, process.name);
        if (backMs === undefined) return;
        process.later(backMs, () => {
          if (isLate) return;
          timer[Symbol.dispose]();
          resolve(result());
        });
      };
      const there = this.#listeners.get(address);
      const goMs = this.travelMs(process.name, there?.process.name ?? address);
      if (goMs === undefined) return;
      this.world.after(goMs, () => {
        const listener = this.#listeners.get(address);
        if (listener === undefined || this.#refusing.has(listener.process.name)) {
          return answer(address, () => ({ kind: 'refused' }));
        }
        // The kernel accepts connections even for a stopped process.
        listener.process.deliver(() => {
          const incarnation = listener.incarnation();
          if (incarnation === undefined) return;
          answer(listener.process.name, () => ({
            kind: 'identified',
            incarnation,
            lifeline: this.#lifeline(process, listener.process),
          }));
        });
      });
    });
  }

  #lifeline(from: SimulatedProcess, to: SimulatedProcess): Lifeline {
    const { promise, resolve } = Promise.withResolvers<ConnectionEnd>();
    const end = (how: ConnectionEnd): void => {
      this.#lifelines.delete(open);
      from.deliver(() => resolve(how));
    };
    const open = { to, end };
    this.#lifelines.add(open);
    // The kernel repeats the FIN until it arrives.
    const sendFin = (): void => {
      if (from.isDead || !this.#lifelines.has(open)) return;
      const travelMs = this.travelMs(to.name, from.name);
      if (travelMs === undefined) this.world.after(FIN_AGAIN_MS, sendFin);
      else
        this.world.after(travelMs, () =>
          end(this.world.random.happens(RESET_SHARE) ? 'broken' : 'closed'),
        );
    };
    if (to.isDead) sendFin();
    else to.onDeath(sendFin);
    const isProxied = this.#proxied.has(to.name);
    return {
      isDirect: !isProxied || this.#flaw === 'proxyIsDirect',
      ended: promise,
      [Symbol.dispose]: () => void this.#lifelines.delete(open),
    };
  }
}
