/*
 * Proof that the process of a shard owner has ended (architecture 3.3).
 *
 * A refused connection is no proof: a network policy refuses connections to a live process, too. So
 * each node keeps an idle connection to each owner, over which the owner has named its incarnation:
 * the lifeline. If the process ends, its kernel closes the lifeline with a FIN. A policy cannot send
 * a FIN, and a live process says goodbye before it closes a connection. After a FIN without a
 * goodbye, a refused connection to the same address is proof.
 */
import type { Probed } from '#cluster/failure-evidence';
import { type Clock, sleep } from '#stdlib/clock';

/**
 * End of a connection. `closed`: by a FIN of the other side, without a goodbye of either side.
 * `broken`: in any other way.
 */
export type ConnectionEnd = 'closed' | 'broken';

/** A connection over which a node has named its incarnation. Disposing closes the connection. */
export interface Lifeline extends Disposable {
  /** Whether the connection leads directly to the node. A proxy can also send a FIN. */
  readonly isDirect: boolean;
  /** Resolves when the connection has ended. */
  readonly ended: Promise<ConnectionEnd>;
}

/**
 * Result of a connection to an address. `broken`: the connection ended before the node named its
 * incarnation. `silent`: no clear result in time.
 */
export type Dialed =
  | { readonly kind: 'refused' | 'broken' | 'silent' }
  | { readonly kind: 'identified'; readonly incarnation: string; readonly lifeline: Lifeline };

/** Connects to an address (`host:port`) and asks for the incarnation there. Never rejects. */
export type Dial = (address: string) => Promise<Dialed>;

/**
 * Time after a FIN in which a refusal is proof, in milliseconds. The kernel closes the files of an
 * ended process one after the other, so the listener may accept connections for some milliseconds
 * longer, or for up to a second on a busy machine.
 */
const PROOF_MS_MAX = 2_000;

/** Pause between two connections after a FIN, in milliseconds. */
const AGAIN_MS = 50;

/** Pause between two attempts to open a lifeline, in milliseconds. */
const REOPEN_MS = 1_000;

/** State of one owner. */
type Owner = {
  /** Open lifeline; undefined if there is none. */
  lifeline: Lifeline | undefined;
  /** Monotonic time of the last attempt to open a lifeline. */
  triedMs: number;
  /** Connections after a FIN; undefined if none are under way. */
  verifying: Promise<void> | undefined;
  /** Whether the process of the owner is proven to have ended. */
  hasEnded: boolean;
};

/** Lifelines of one node to shard owners. */
export class Lifelines implements Disposable {
  readonly #dial: Dial;
  readonly #clock: Clock;
  readonly #owners = new Map<string, Owner>();

  constructor(dial: Dial, clock: Clock) {
    this.#dial = dial;
    this.#clock = clock;
  }

  /** Replaces the set of owners. Closes the lifelines to all other incarnations. */
  keep(incarnations: ReadonlySet<string>): void {
    for (const [incarnation, { lifeline }] of this.#owners) {
      if (incarnations.has(incarnation)) continue;
      this.#owners.delete(incarnation);
      lifeline?.[Symbol.dispose]();
    }
    for (const incarnation of incarnations) {
      if (this.#owners.has(incarnation)) continue;
      const triedMs = Number.NEGATIVE_INFINITY;
      const blank = { lifeline: undefined, triedMs, verifying: undefined, hasEnded: false };
      this.#owners.set(incarnation, blank);
    }
  }

  /** Opens a lifeline to an owner in the background, if there is none. */
  open(incarnation: string, address: string): void {
    const owner = this.#owners.get(incarnation);
    const nowMs = this.#clock.monotonicMs();
    if (owner === undefined || owner.lifeline !== undefined || owner.hasEnded) return;
    if (owner.verifying !== undefined || nowMs - owner.triedMs < REOPEN_MS) return;
    owner.triedMs = nowMs;
    void this.#dial(address).then((dialed) => this.#take(incarnation, address, dialed));
  }

  /**
   * Finds out whether the process of an owner listens at its address. While the owner sends
   * heartbeats (`isHeard`), an open lifeline is enough. Never rejects.
   */
  async probe(incarnation: string, address: string, isHeard: boolean): Promise<Probed> {
    const owner = this.#owners.get(incarnation);
    await owner?.verifying;
    if (owner?.hasEnded === true) return { kind: 'ended' };
    if (owner?.lifeline !== undefined && isHeard) return { kind: 'listening' };
    return this.#take(incarnation, address, await this.#dial(address));
  }

  [Symbol.dispose](): void {
    this.keep(new Set());
  }

  /** Takes the result of a connection. Keeps its lifeline if it is the first of this owner. */
  #take(incarnation: string, address: string, dialed: Dialed): Probed {
    if (dialed.kind === 'broken') return { kind: 'silent' };
    if (dialed.kind !== 'identified') return { kind: dialed.kind };
    const { incarnation: found, lifeline } = dialed;
    const owner = this.#owners.get(incarnation);
    if (found === incarnation && owner !== undefined && owner.lifeline === undefined) {
      owner.lifeline = lifeline;
      void lifeline.ended.then((how) => this.#drop(incarnation, address, lifeline, how));
      return { kind: 'listening' };
    }
    lifeline[Symbol.dispose]();
    // Another incarnation behind a proxy proves nothing, nor does one beside an open lifeline.
    const isProof = found !== incarnation && lifeline.isDirect && owner?.lifeline === undefined;
    return isProof ? { kind: 'answered', incarnation: found } : { kind: 'listening' };
  }

  #drop(incarnation: string, address: string, lifeline: Lifeline, how: ConnectionEnd): void {
    const owner = this.#owners.get(incarnation);
    if (owner?.lifeline !== lifeline) return;
    owner.lifeline = undefined;
    if (how !== 'closed' || !lifeline.isDirect) return;
    const verifying = this.#verify(incarnation, address, owner).finally(() => {
      if (owner.verifying === verifying) owner.verifying = undefined;
    });
    owner.verifying = verifying;
  }

  async #verify(incarnation: string, address: string, owner: Owner): Promise<void> {
    const endMs = this.#clock.monotonicMs() + PROOF_MS_MAX;
    while (this.#clock.monotonicMs() < endMs) {
      const dialed = await this.#dial(address);
      // Another connection may have found the owner meanwhile.
      const isOpen = owner.lifeline !== undefined;
      if (dialed.kind === 'refused') owner.hasEnded = !isOpen;
      if (dialed.kind === 'identified') this.#take(incarnation, address, dialed);
      if (isOpen || dialed.kind === 'refused' || dialed.kind === 'identified') return;
      await sleep(this.#clock, AGAIN_MS);
    }
  }
}
