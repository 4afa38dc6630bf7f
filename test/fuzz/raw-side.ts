import type { FuzzedService } from '#test/fuzz/fuzzed-service';
import { Lane } from '#test/fuzz/lane';
import { growthFlaws, settledBytes } from '#test/fuzz/memory';
import type { Finding } from '#test/fuzz/round';

/** Number of lanes. Each lane plays one round at a time. */
const LANES = 4;

/** Share of the run before the first memory measurement, in [0, 1]. */
const WARM_PART = 0.25;

/** Length of a run: a duration or a number of rounds. */
export type RawExtent =
  | { readonly kind: 'seconds'; readonly seconds: number }
  | { readonly kind: 'rounds'; readonly rounds: number };

/** Fuzzer on raw sockets: several lanes play rounds concurrently. */
export class RawSide {
  readonly #service: FuzzedService;
  readonly #lanes: readonly Lane[];
  readonly #firstSeed: number;
  /** Current or last seed per lane. */
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

  /** Command that replays the current round of every lane, concurrently. */
  again(): string {
    return `  again: make fuzz SEED=${[...this.#seeds.values()].join(',') || this.#firstSeed}`;
  }

  /** Plays one round per seed, distributed over the lanes. Returns the findings. */
  async playEach(seeds: readonly number[]): Promise<string[]> {
    const left = [...seeds];
    return this.#onLanes(() => left.shift());
  }

  /** Plays rounds with consecutive seeds, then checks memory growth. Returns the findings. */
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

  /** Plays seeds from `next` on all lanes until `next` returns undefined or a process ends. */
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
