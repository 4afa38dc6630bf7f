import type { Append, Conditional, JournalHead, JournalStore } from '#storage/journal-store';
import type { SimulatedProcess } from '#test/simulation/simulated-process';
import type { SimulatedStore } from '#test/simulation/simulated-store';
import { memoryJournalStore } from '#test/storage/memory-journal-store';

/** Hears of every write that was applied, at the moment at which it was. */
export type JournalListener = {
  readonly begun: (incarnation: string, by: string) => void;
  readonly appended: (append: Append) => void;
  readonly sealed: (incarnation: string, by: string) => void;
};

/** Ways in which journals can be written wrongly. */
export type JournalFlaws = {
  /** A seal is sent to no listener. */
  readonly isSealSkipped?: boolean;
  /** An append does not look at `sealed`. */
  readonly isSealIgnored?: boolean;
  /** An append that is not applied is taken as one's own earlier try. */
  readonly isRefusalHidden?: boolean;
};

/**
 * The journals of a world, behind a store that fails. What a conditional write left undecided
 * (executed, but not acknowledged) is invisible to quorum reads until something serial touches the
 * journal again, as a Paxos round that was accepted and never committed.
 */
export class SimulatedJournals {
  readonly #server: SimulatedStore;
  readonly #truth: JournalStore;
  readonly #listener: JournalListener;
  /** What a quorum read sees where that is less than the truth. */
  readonly #lagging = new Map<string, JournalHead | undefined>();

  readonly #flaws: JournalFlaws;
  /** Journals that are sealed only by word, because appends do not look at it. */
  readonly #sealedByWord = new Set<string>();

  constructor(server: SimulatedStore, listener: JournalListener, flaws: JournalFlaws = {}) {
    this.#server = server;
    this.#listener = listener;
    this.#flaws = flaws;
    this.#truth = memoryJournalStore(server.world);
  }

  /** The journals as they are, for checkers. */
  get truth(): JournalStore {
    return this.#truth;
  }

  /** The journals as one process sees them. */
  portOf(process: SimulatedProcess): JournalStore {
    const read = <Answer>(name: string, execute: () => Promise<Answer>): Promise<Answer> =>
      this.#server.call(process, { name, isWrite: false, execute });
    return {
      begin: (incarnation, address) =>
        this.#change(process, 'begin', incarnation, async () => {
          const written = await this.#truth.begin(incarnation, address);
          if (written.isApplied) this.#listener.begun(incarnation, process.name);
          return written;
        }),
      append: (append) =>
        this.#change(process, `append ${append.slot}`, append.incarnation, async () => {
          const written = await this.#truth.append(append);
          if (written.isApplied) this.#listener.appended(append);
          return this.#flaws.isRefusalHidden ? { isApplied: true } : written;
        }),
      seal: (incarnation) =>
        this.#change(process, `seal ${incarnation}`, incarnation, async () => {
          const written = await this.#sealed(incarnation);
          if (written.isApplied) this.#listener.sealed(incarnation, process.name);
          return written;
        }),
      readHead: (incarnation, kind) =>
        read(`head ${kind}`, () => {
          if (kind === 'serial') this.#lagging.delete(incarnation);
          else if (this.#lagging.has(incarnation)) {
            return Promise.resolve(this.#lagging.get(incarnation));
          }
          return this.#head(incarnation);
        }),
      readSlots: (incarnation, from, to) =>
        read('slots', () => this.#truth.readSlots(incarnation, from, to)),
      list: () => read('journals', () => this.#truth.list()),
      empty: (incarnation) =>
        this.#change(process, 'empty', incarnation, () => this.#truth.empty(incarnation)),
    };
  }

  async #sealed(incarnation: string): Promise<Conditional> {
    const { isSealSkipped, isSealIgnored } = this.#flaws;
    if (isSealSkipped) return { isApplied: true };
    if (!isSealIgnored) return this.#truth.seal(incarnation);
    const head = await this.#head(incarnation);
    if (head === undefined || head.isSealed) return { isApplied: false, head };
    this.#sealedByWord.add(incarnation);
    return { isApplied: true };
  }

  async #head(incarnation: string): Promise<JournalHead | undefined> {
    const head = await this.#truth.readHead(incarnation, 'serial');
    if (head === undefined || !this.#sealedByWord.has(incarnation)) return head;
    return { ...head, isSealed: true };
  }

  #change<Answer>(
    process: SimulatedProcess,
    name: string,
    incarnation: string,
    execute: () => Promise<Answer>,
  ): Promise<Answer> {
    let before: JournalHead | undefined;
    return this.#server.call(process, {
      name,
      isWrite: true,
      execute: async () => {
        before = await this.#truth.readHead(incarnation, 'serial');
        // A conditional write completes whatever was left undecided before it.
        this.#lagging.delete(incarnation);
        return execute();
      },
      onLeft: (isAnswered) => {
        if (!isAnswered && this.#server.world.random.happens(0.5)) {
          this.#lagging.set(incarnation, before);
        }
      },
    });
  }
}
