import {
  type JournalEntry,
  type JournalStore,
  journalStoreOf,
  NEWEST_SLOTS,
  type NewestSlot,
  type NewestSlots,
} from '#storage/ports/journal';
import type { JournalFlaw, SimulatedSteps } from '#test/simulation/faults/journal-flaws';
import type { Cell } from '#test/simulation/faults/replica-partition';
import type { SimulatedProcess } from '#test/simulation/simulated/process';
import type { SimulatedStore } from '#test/simulation/simulated/store';
import {
  markOf,
  NO_SLOTS,
  resolveSlots,
  SEAL,
  type SealRow,
  type SlotRow,
  slotMutation,
} from '#test/simulation/stored/journal-rows';
import { type JournalListener, JournalWatch } from '#test/simulation/stored/journal-watch';
import { type Replicas, ReplicatedTable } from '#test/simulation/stored/replicas';

type Entry = JournalEntry & { readonly endDecidedAtMs: number | undefined };

/**
 * Simulated journals. Entries are a linearizable map. If a conditional write was executed but not
 * acknowledged, quorum reads may return the previous entry until the next serial operation on the
 * entry, like an accepted Paxos round before its commit. Slots and seals are plain writes to three
 * replicas.
 */
export class SimulatedJournals {
  readonly #server: SimulatedStore;
  readonly #entries = new Map<string, Entry>();
  /** Entry that a quorum read returns while a conditional write is undecided. */
  readonly #lagging = new Map<string, Entry | undefined>();
  readonly #slots: ReplicatedTable<number, SlotRow>;
  readonly #seals: ReplicatedTable<number, SealRow>;
  readonly #listener: JournalListener;
  readonly #watch: JournalWatch;
  readonly #flaw: JournalFlaw | undefined;

  constructor(
    server: SimulatedStore,
    replicas: Replicas,
    listener: JournalListener,
    flaw?: JournalFlaw,
  ) {
    this.#server = server;
    this.#listener = listener;
    this.#flaw = flaw;
    const rowsOf = (incarnation: string, slot: number) => this.#slots.rowsOf(incarnation, slot);
    this.#watch = new JournalWatch(rowsOf, listener);
    this.#slots = new ReplicatedTable(replicas, resolveSlots, (incarnation, mutation) =>
      this.#watch.applied(incarnation, mutation),
    );
    this.#seals = new ReplicatedTable<number, SealRow>(replicas, (one) => one);
  }

  /** Journal port for a process. */
  portOf(process: SimulatedProcess): JournalStore {
    const steps = this.#stepsOf(process);
    const decided = (incarnation: string, end: number) =>
      this.#watch.decided(incarnation, end, process.name);
    const flawed = this.#flaw?.(steps, decided) ?? steps;
    return { ...journalStoreOf(flawed), isSealed: (incarnation) => flawed.look(incarnation) };
  }

  #stepsOf(process: SimulatedProcess): SimulatedSteps {
    return {
      ...this.#entrySteps(process),
      ...this.#slotSteps(process),
      ...this.#sealSteps(process),
    };
  }

  #entrySteps(process: SimulatedProcess) {
    return {
      begin: (incarnation: string, address: string) =>
        this.#change(process, `begin ${incarnation}`, incarnation, () => {
          if (this.#entries.has(incarnation)) return false;
          this.#entries.set(incarnation, { address, end: undefined, endDecidedAtMs: undefined });
          this.#listener.begun(incarnation, process.name);
          return true;
        }),
      decideEnd: (incarnation: string, end: number) =>
        this.#change(process, `end ${incarnation} at ${end}`, incarnation, () => {
          const entry = this.#entries.get(incarnation);
          if (entry === undefined || entry.end !== undefined) return false;
          const endDecidedAtMs = this.#server.world.wallMs();
          this.#entries.set(incarnation, { ...entry, end, endDecidedAtMs });
          this.#watch.decided(incarnation, end, process.name);
          return true;
        }),
      deleteEntry: (incarnation: string) =>
        this.#change(process, `empty ${incarnation}`, incarnation, () => {
          if (this.#entries.get(incarnation)?.end !== undefined) this.#entries.delete(incarnation);
        }),
      readEntry: (incarnation: string, kind: 'serial' | 'quorum') =>
        this.#read(process, `entry ${kind}`, async () => {
          if (kind === 'serial') this.#lagging.delete(incarnation);
          const isLagging = this.#lagging.has(incarnation);
          return (isLagging ? this.#lagging : this.#entries).get(incarnation);
        }),
      list: () =>
        this.#read(process, 'journals', async () =>
          [...this.#entries].map(([incarnation, { endDecidedAtMs }]) => {
            return { incarnation, sealedAtMs: endDecidedAtMs };
          }),
        ),
    };
  }

  #slotSteps(process: SimulatedProcess) {
    return {
      append: (append: Parameters<JournalStore['append']>[0]) => {
        const { incarnation, slot } = append;
        const name = `append ${slot} of ${incarnation}`;
        const execute = () => this.#slots.write(incarnation, slotMutation(append), { name });
        return this.#server.call(process, { name, isWrite: true, execute });
      },
      readNewestSlot: (incarnation: string) => this.#newestSlot(process, incarnation),
      readNewestSlots: async (incarnation: string): Promise<NewestSlots | undefined> => {
        const newest = await this.#newestSlot(process, incarnation);
        if (newest === undefined) return undefined;
        const query = { from: newest.slot - NEWEST_SLOTS + 1 };
        return this.#read(process, `newest of ${incarnation}`, async (name) => {
          const cells = await this.#slots.read(incarnation, query, { name });
          const whole = cells.filter(({ row }) => row.records !== undefined);
          const newestCell = cells.at(-1);
          return newestCell && { ...newestSlotOf(newestCell), whole: whole.map(({ key }) => key) };
        });
      },
      readSlots: (incarnation: string, from: number, to: number) =>
        this.#read(process, `slots of ${incarnation}`, async (name) => {
          const cells = await this.#slots.read(incarnation, { from, below: to }, { name });
          return cells.flatMap(({ key, row: { records } }) => {
            return records === undefined ? [] : [{ slot: key, records: records.slice() }];
          });
        }),
      deleteSlots: (incarnation: string) => {
        const name = `empty ${incarnation}`;
        const execute = () => this.#slots.write(incarnation, NO_SLOTS, { name });
        return this.#server.call(process, { name, isWrite: true, execute });
      },
    };
  }

  #newestSlot(process: SimulatedProcess, incarnation: string): Promise<NewestSlot | undefined> {
    return this.#read(process, `newest slot of ${incarnation}`, async (name) => {
      const query = { newest: 1, columns: markOf };
      const [cell] = await this.#slots.read(incarnation, query, { name });
      return cell && newestSlotOf(cell);
    });
  }

  #sealSteps(process: SimulatedProcess) {
    const hasSeal = (incarnation: string, replicas?: number) =>
      this.#read(process, `seal of ${incarnation}?`, async (name) => {
        return (await this.#seals.read(incarnation, {}, { name, replicas })).length > 0;
      });
    return {
      look: hasSeal,
      hasSeal,
      putSeal: (incarnation: string, replicas?: number) => {
        this.#listener.sealing(incarnation, process.name);
        const name = `seal of ${incarnation}`;
        const execute = () => this.#seals.write(incarnation, SEAL, { name, replicas });
        return this.#server.call(process, { name, isWrite: true, execute });
      },
    };
  }

  #read<Answer>(
    process: SimulatedProcess,
    name: string,
    execute: (name: string) => Promise<Answer>,
  ): Promise<Answer> {
    return this.#server.call(process, { name, isWrite: false, execute: () => execute(name) });
  }

  /** Executes a conditional write of an entry. */
  #change<Answer>(
    process: SimulatedProcess,
    name: string,
    incarnation: string,
    execute: () => Answer,
  ): Promise<Answer> {
    let before: Entry | undefined;
    return this.#server.call(process, {
      name,
      isWrite: true,
      execute: async () => {
        before = this.#entries.get(incarnation);
        // A conditional write first completes an undecided write.
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

function newestSlotOf({ key, row }: Cell<number, SlotRow>): NewestSlot {
  return { slot: key, lowWaterMark: row.lowWaterMark };
}
