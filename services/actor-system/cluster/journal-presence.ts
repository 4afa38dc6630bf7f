import type { Clock } from '#stdlib/clock';
import type { JournalStore } from '#storage/ports/journal';

/** Options of `JournalPresence`. */
type JournalPresenceOptions = {
  readonly journals: Pick<JournalStore, 'readHead'>;
  readonly clock: Clock;
  /** Called when another incarnation is found to have a journal. */
  readonly onFound: () => void;
};

/** Process that claims to be a node by sending a heartbeat. */
type Claim = { readonly incarnation: string; readonly address: string };

/**
 * Pause before an incarnation without a journal is looked up again, in milliseconds. Nodes send
 * heartbeats only after their journals have begun, so only forged names are looked up twice.
 * Source: decision 179.
 */
const MISSING_MS = 10_000;

/** Pause after a failed lookup, in milliseconds: one heartbeat period. */
const FAILED_MS = 1_000;

/**
 * Maximum number of concurrent lookups. Enough for a starting fleet. Limits the load that a flood
 * of forged names can cause.
 */
const LOOKS_MAX = 16;

/**
 * Lookup result of one incarnation: whether its journal was found, and when to look again
 * (monotonic).
 */
type Found = { readonly isBegun: boolean; readonly againMs: number };

/**
 * Checks which of the heard incarnations have an open journal at the address that they claim. The
 * database decides which processes are nodes, not the bus. After a journal was found, it is not
 * looked up again; the failure detector detects its end.
 */
export class JournalPresence {
  readonly #options: JournalPresenceOptions;
  readonly #found = new Map<string, Found>();
  #looks = 0;

  constructor(options: JournalPresenceOptions) {
    this.#options = options;
  }

  /** Whether the journal of an incarnation has been found. */
  hasFound(incarnation: string): boolean {
    return this.#found.get(incarnation)?.isBegun === true;
  }

  /**
   * Looks up the journal of a heard incarnation, unless the journal was found or looked up
   * recently.
   */
  look(claim: Claim): void {
    const { incarnation } = claim;
    const found = this.#found.get(incarnation);
    if (found?.isBegun === true || this.#looks >= LOOKS_MAX) return;
    if (found !== undefined && this.#options.clock.monotonicMs() < found.againMs) return;
    this.#looks += 1;
    // Prevents a second lookup while the first is running.
    this.#found.set(incarnation, { isBegun: false, againMs: Number.POSITIVE_INFINITY });
    void this.#read(claim).finally(() => {
      this.#looks -= 1;
    });
  }

  /** Drops the result of an incarnation that is not heard any more. */
  forget(incarnation: string): void {
    this.#found.delete(incarnation);
  }

  async #read({ incarnation, address }: Claim): Promise<void> {
    const { journals, clock, onFound } = this.#options;
    const head = await journals.readHead(incarnation, 'quorum').catch(() => 'unknown' as const);
    // The incarnation was forgotten during the read: discard the late answer.
    if (!this.#found.has(incarnation)) return;
    const isBegun = typeof head === 'object' && !head.isSealed && head.address === address;
    const restMs = head === 'unknown' ? FAILED_MS : MISSING_MS;
    this.#found.set(incarnation, { isBegun, againMs: clock.monotonicMs() + restMs });
    if (isBegun) onFound();
  }
}
