import type { FuzzedService } from '#test/fuzz/fuzzed-service';
import { Lane } from '#test/fuzz/lane';
import { growthFlaws, settledBytes } from '#test/fuzz/memory';
import type { Finding } from '#test/fuzz/round';

/** Rounds that are played at the same time. */
const LANES = 4;

/** Of the whole: so much is played before memory is measured for the first time. */
const WARM_PART = 0.25;

/** How long rounds are played, or how many. */
export type RawExtent =
  | { readonly kind: 'seconds'; readonly seconds: number }
  | { readonly kind: 'rounds'; readonly rounds: number };

/** Rounds of own sockets, played on several lanes at the same time. */
export class RawSide {
  readonly #service: FuzzedService;
  readonly #lanes: readonly Lane[];
  readonly #firstSeed: number;
  /** What each lane plays, or has played last. */
  readonly #seeds = new Map<Lane, number>();
  #nextSeed: number;
  #talks = 0;

  private constructor(service: FuzzedService, lanes: readonly Lane[], firstSeed: number) {
    this.#service = service;
    this.#lanes = lanes;
    this.#firstSeed = firstSeed;
    this.#nextSeed = firstSeed;
  }

  static async open(service: FuzzedService, firstSeed: number): Promise<RawSide> {
    const lanes = await Promise.all(Array.from({ length: LANES }, () => Lane.open(service)));
    return new RawSide(service, lanes, firstSeed);
  }

  /** The command that plays the rounds of this moment again, together as they are. */
  again(): string {
    return `  again: make fuzz SEED=${[...this.#seeds.values()].join(',') || this.#firstSeed}`;
  }

  /** Plays the rounds of these seeds, as many at the same time as there are lanes. */
  async playEach(seeds: readonly number[]): Promise<string[]> {
    const left = [...seeds];
    return this.#onLanes(() => left.shift());
  }

  /** Plays one round after the other, and looks at how much memory that has cost. */
  async play(extent: RawExtent): Promise<string[]> {
    const startMs = performance.now();
    const playTo = (part: number) =>
      this.#onLanes(() => {
        const isOver =
          extent.kind === 'rounds'
            ? this.#nextSeed >= this.#firstSeed + Math.ceil(part * extent.rounds)
            : performance.now() >= startMs + part * extent.seconds * 1_000;
        return isOver ? undefined : this.#nextSeed++;
      });
    const found = await playTo(WARM_PART);
    const before = await settledBytes(this.#service);
    found.push(...(await playTo(1)));
    const after = await settledBytes(this.#service);
    const rounds = this.#nextSeed - this.#firstSeed;
    const shown = [...after].map(([name, bytes]) => {
      const [from, to] = [before.get(name) ?? 0, bytes].map((each) =>
        (each / 1_048_576).toFixed(1),
      );
      return `${name} ${from} to ${to} MiB`;
    });
    console.log(`${this.#talks} connections, ${rounds} rounds; heaps: ${shown.join(', ')}`);
    const again = `  again: make fuzz ARGS="--only raw --from ${this.#firstSeed} --rounds ${rounds}"`;
    return [...found, ...growthFlaws(before, after, again)];
  }

  /** Has every lane play what `next` gives, until that is nothing or a process has ended. */
  async #onLanes(next: () => number | undefined): Promise<string[]> {
    const found: string[] = [];
    const playAll = async (lane: Lane): Promise<void> => {
      for (;;) {
        const seed = isServing(this.#service) ? next() : undefined;
        if (seed === undefined) return;
        this.#seeds.set(lane, seed);
        const { findings, talks } = await lane.play(seed);
        this.#talks += talks;
        found.push(...findings.map(textOf));
      }
    };
    await Promise.all(this.#lanes.map(playAll));
    return found;
  }
}

function isServing({ processes }: FuzzedService): boolean {
  return [...processes.values()].every(
    ({ exitCode, signalCode }) => (exitCode ?? signalCode) === null,
  );
}

function textOf({ seed, problems, sent, received }: Finding): string {
  return `${problems.join('; ')}\n  sent ${sent}\n  got  ${received}\n  again: make fuzz SEED=${seed}`;
}
