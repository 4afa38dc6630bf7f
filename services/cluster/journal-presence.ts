import type { Clock } from '#platform/clock';
import type { JournalStore } from '#storage/ports/journal';

/** What looking for journals takes. */
type JournalPresenceOptions = {
  readonly journals: Pick<JournalStore, 'readHead'>;
  readonly clock: Clock;
  /** Called when one more incarnation is found to have a journal. */
  readonly onFound: () => void;
};

/** A process whose heartbeat names it a node. */
type Claim = { readonly incarnation: string; readonly address: string };

/**
 * How long an incarnation without a journal is not looked for again, in milliseconds. Nodes send
 * heartbeats after their journals have begun, so that only a forged one is looked for twice. Source: decision 179.
 */
const MISSING_MS = 10_000;

/** How long after a look that got no answer the next may come, in milliseconds: a heartbeat. */
const FAILED_MS = 1_000;

/** Looks under way at once: a fleet that starts is through in a moment, a flood of names costs no more. */
const LOOKS_MAX = 16;

/** What is known of one incarnation: whether its journal was seen, and when to look again (monotonic). */
type Found = { readonly isBegun: boolean; readonly againMs: number };

/**
 * Which of the incarnations that are heard have a journal that is open, at the address that they
 * name: the database alone decides which process is a node, whatever the bus says. One that was found once
 * needs no second look; that it has ended is found out otherwise.
 */
export class JournalPresence {
  readonly #options: JournalPresenceOptions;
  readonly #found = new Map<string, Found>();
  #looks = 0;

  constructor(options: JournalPresenceOptions) {
    this.#options = options;
  }

  /** Whether the journal of an incarnation has been seen. */
  hasFound(incarnation: string): boolean {
    return this.#found.get(incarnation)?.isBegun === true;
  }

  /** Looks for the journal of an incarnation that is heard, unless it was seen or looked for just now. */
  look(claim: Claim): void {
    const { incarnation } = claim;
    const found = this.#found.get(incarnation);
    if (found?.isBegun === true || this.#looks >= LOOKS_MAX) return;
    if (found !== undefined && this.#options.clock.monotonicMs() < found.againMs) return;
    this.#looks += 1;
    // Nothing looks for it again meanwhile.
    this.#found.set(incarnation, { isBegun: false, againMs: Number.POSITIVE_INFINITY });
    void this.#read(claim).finally(() => {
      this.#looks -= 1;
    });
  }

  /** Nothing is known any more of an incarnation that is not heard any more. */
  forget(incarnation: string): void {
    this.#found.delete(incarnation);
  }

  async #read({ incarnation, address }: Claim): Promise<void> {
    const { journals, clock, onFound } = this.#options;
    const head = await journals.readHead(incarnation, 'quorum').catch(() => 'unknown' as const);
    // Forgotten meanwhile: a late answer must not be kept for good.
    if (!this.#found.has(incarnation)) return;
    const isBegun = typeof head === 'object' && !head.isSealed && head.address === address;
    const restMs = head === 'unknown' ? FAILED_MS : MISSING_MS;
    this.#found.set(incarnation, { isBegun, againMs: clock.monotonicMs() + restMs });
    if (isBegun) onFound();
  }
}
