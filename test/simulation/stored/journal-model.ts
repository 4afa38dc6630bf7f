import { APPENDS_IN_FLIGHT_MAX } from '#actor-runtime/actor-bounds';
import { encodeRecord } from '#actor-runtime/record-codec';
import { Fault } from '#errors/fault';
import { Fenced, JournalWriter } from '#shards/journal-writer';
import { readTail } from '#shards/tail-recovery';
import type { JournalStore } from '#storage/ports/journal';
import { UNNOTICED_APPENDS } from '#test/shards/journal-writer-fixture';
import type { JournalFlaw } from '#test/simulation/faults/journal-flaws';
import type { SeededRandom } from '#test/simulation/seeded-random';
import { SimulatedJournals } from '#test/simulation/simulated/journals';
import { SimulatedProcess } from '#test/simulation/simulated/process';
import { SimulatedStore } from '#test/simulation/simulated/store';
import type { JournalListener } from '#test/simulation/stored/journal-watch';
import { Replicas } from '#test/simulation/stored/replicas';
import { Violation } from '#test/simulation/stored/version-index';
import { World } from '#test/simulation/world';

/** Incarnation id of the journal. */
const JOURNAL = 'journal';

/** Maximum number of sealing nodes. */
const SEALERS_MAX = 3;

/** Maximum time until the seal in a short history, in milliseconds. */
const SHORT_MS = 600;

/** Maximum time until the seal in a long history, in ms. Only long histories have truncations. */
const LONG_MS = 24_000;

/** Time range in which the first truncation of a long history happens, in milliseconds. */
const TRUNCATION_MS = [9_900, 10_700] as const;

/** Result of one history. */
export type JournalHistory = {
  readonly acknowledged: number;
  readonly seals: number;
  readonly isFenced: boolean;
};

/**
 * Simulates one journal with far more faults than in a cluster: a writer that appends all the time,
 * up to three nodes that seal the journal and read its tail, and replicas. Writer, sealers and tail
 * reader are the real code. Rejects with a `Violation` if an acknowledged record is lost, two ends
 * are decided, or two tails differ.
 */
export async function journalHistory(seed: number, flaw?: JournalFlaw): Promise<JournalHistory> {
  const world = new World(seed);
  const history = new History(world, flaw);
  return await world.run(history.run());
}

class History {
  readonly #world: World;
  readonly #journals: SimulatedJournals;
  readonly #replicas: Replicas;
  readonly #store: SimulatedStore;
  readonly #isLong: boolean;
  /** Lines that any two replicas return. */
  readonly #standing = new Set<string>();
  readonly #needed = new Map<string, number>();
  readonly #tails: (readonly string[])[] = [];
  #acknowledged = 0;
  /** Groups below this number are truncated. */
  #low = 0;
  #isOver = false;

  constructor(world: World, flaw: JournalFlaw | undefined) {
    this.#world = world;
    this.#isLong = world.random.happens(0.1);
    this.#store = new SimulatedStore(world);
    this.#replicas = new Replicas(world);
    this.#journals = new SimulatedJournals(this.#store, this.#replicas, this.#listener(), flaw);
  }

  async run(): Promise<JournalHistory> {
    const { random } = this.#world;
    const writing = new SimulatedProcess(this.#world, 'writer');
    const port = this.#journals.portOf(writing);
    await port.begin(JOURNAL, 'writer:1');
    this.#trouble();
    const writer = this.#write(writing, port);
    const seals = random.whole(1, SEALERS_MAX);
    const isEarly = this.#isLong && random.happens(0.8);
    const [from, to] = isEarly ? TRUNCATION_MS : [0, this.#isLong ? LONG_MS : SHORT_MS];
    const sealMs = this.#world.nowMs + random.between(from, to);
    const sealers = Array.from({ length: seals }, (_, place) => {
      return this.#seal(new SimulatedProcess(this.#world, `sealer${place}`), sealMs);
    });
    await Promise.all(sealers);
    this.#isOver = true;
    const isFenced = await writer;
    return { acknowledged: this.#acknowledged, seals, isFenced };
  }

  /** Injects many faults, but few enough that a long history reaches its truncation. */
  #trouble(): void {
    const { random } = this.#world;
    const rate = (most: number): number => random.pick([0, 0.3, 1]) * most;
    const share = this.#isLong ? 0.5 : 1;
    this.#replicas.faults = {
      late: rate(0.3) * share,
      hinted: rate(0.2) * share,
      doubled: rate(0.2),
      lost: rate(0.1) * share,
      mute: rate(0.03),
    };
    if (this.#isLong) return;
    this.#store.faults = {
      slow: rate(0.2),
      answerLost: rate(0.05),
      executedLate: rate(0.05),
      refused: 0,
      swallowed: rate(0.05),
    };
  }

  #listener(): JournalListener {
    return {
      begun: () => undefined,
      sealing: () => undefined,
      ended: () => undefined,
      truncated: () => undefined,
      appended: (_incarnation, _slot, lines) => {
        for (const line of lines) this.#standing.add(line);
      },
      withdrawn: (_incarnation, slot, lines) => {
        for (const line of lines) {
          this.#standing.delete(line);
          if (this.#needed.has(line)) this.#fail(`acknowledged ${line} in slot ${slot} is lost`);
        }
      },
      fail: (violation) => this.#world.fail(violation),
    };
  }

  /**
   * Appends groups concurrently until the writer is fenced or all sealers have finished. Resolves
   * to whether the writer was fenced.
   */
  async #write(process: SimulatedProcess, store: JournalStore): Promise<boolean> {
    const { clock, random } = process;
    const writer = new JournalWriter(JOURNAL, { store, clock, ...UNNOTICED_APPENDS });
    let isFenced = false;
    writer.onFenced(() => {
      isFenced = true;
    });
    const inFlight: Promise<void>[] = [];
    const thinkMs = this.#isLong ? 400 : random.pick([0, 5, 40]);
    for (let group = 0; !isFenced && !this.#isOver; group += 1) {
      inFlight.push(this.#append(writer, group, random));
      await sleepIn(process, random.between(0, thinkMs));
      if (inFlight.length >= APPENDS_IN_FLIGHT_MAX) await inFlight.shift();
    }
    return isFenced;
  }

  async #append(writer: JournalWriter, group: number, random: SeededRandom): Promise<void> {
    // Random ids, so that the line of a later group may sort before an earlier line.
    const actorId = `inst_${random.whole(0, 99)}`;
    const fields = { actor: 'instance', actorId, version: group + 1, callId: 0, atMs: 0 };
    const line = encodeRecord({ ...fields, event: { group } });
    this.#release(Math.max(this.#low, this.#acknowledged - random.whole(0, 3)));
    try {
      await writer.append([line], this.#low);
      this.#acknowledge(line, group);
    } catch (error) {
      if (!(error instanceof Fenced)) this.#world.fail(error);
    }
  }

  #acknowledge(line: string, group: number): void {
    this.#acknowledged += 1;
    if (!this.#standing.has(line)) this.#fail(`${line} is acknowledged, but unreadable`);
    if (group >= this.#low) this.#needed.set(line, group);
  }

  #release(low: number): void {
    this.#low = low;
    for (const [line, group] of this.#needed) if (group < low) this.#needed.delete(line);
  }

  async #seal(process: SimulatedProcess, atMs: number): Promise<void> {
    const { random } = process;
    const journals = this.#journals.portOf(process);
    await sleepIn(process, atMs - this.#world.nowMs + random.between(0, 60));
    await again(process, () => journals.seal(JOURNAL));
    await sleepIn(process, random.happens(0.5) ? 0 : random.between(0, 5_000));
    const tail = await again(process, () => readTail(journals, JOURNAL, () => true));
    const lines = tail.map((record) => record.line);
    for (const [line] of this.#needed) {
      if (lines.includes(line)) continue;
      this.#fail(`acknowledged ${line} is missing in the tail that ${process.name} reads`);
    }
    this.#compare(lines);
  }

  /** Checks that two tails differ only by truncated lines. */
  #compare(lines: readonly string[]): void {
    for (const other of this.#tails) {
      const [shorter, longer] = lines.length < other.length ? [lines, other] : [other, lines];
      const isEnd = shorter.every((line, place) => line === longer.at(place - shorter.length));
      if (!isEnd) this.#fail(`two tails differ: ${shorter.join()} and ${longer.join()}`);
    }
    this.#tails.push(lines);
  }

  #fail(text: string): void {
    this.#world.fail(new Violation(text));
  }
}

/** Retries until the store answers. */
async function again<Answer>(
  process: SimulatedProcess,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      await sleepIn(process, process.random.between(0, 100));
    }
  }
}

function sleepIn(process: SimulatedProcess, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    process.later(Math.max(0, delayMs), resolve);
  });
}
