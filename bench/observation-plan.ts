import { writeFile } from 'node:fs/promises';

/**
 * Instances that a run without a store, or on a file, spreads its requests over. A connection that
 * waits while the others go once round all instances would send an observation too late: at 25,000
 * requests/s that is a stall of 160 ms. With 1,000 instances, 45 ms, it happened.
 */
export const INSTANCES = 4_000;

/**
 * Instances of the durable comparison. At 256 connections 744 answers lie between two observations
 * of one instance; no server here that makes each durable first gives that many within 45 ms.
 */
export const DURABLE_INSTANCES = 1_000;

/**
 * Instances of the durable comparison in which each is observed rarely: once in as many answers, so
 * that little of what is stored is shared between observations. Source: the project's targets.
 */
export const MANY_INSTANCES = 50_000;

/** Seconds from an instance's observation to its next: the model's usual agent (model 0). */
export const STEP_S = 60;

/** How far back the first observation lies, in s: 200 days, many times what a run needs. */
const PAST_S = 200 * 86_400;

/** An instance to be observed, and how strong each of its seven modes usually is. */
export type PlannedInstance = { readonly id: string; readonly modeStrengths: readonly number[] };

/**
 * The instances of one server and how far their observations' timestamps have come.
 *
 * Every run takes the instances in turns and adds `STEP_S` with every turn, so that no observation
 * is throttled (interface 8.3). The next run goes on where the last one ended: even when a turn
 * takes many runs, no instance is observed more often than another.
 */
export class ObservationPlan {
  readonly instances: readonly PlannedInstance[];
  readonly key: string;
  /** A file with an instance id and its mode strengths a line, for wrk and k6. */
  readonly file: string;
  readonly #firstS = Math.floor(Date.now() / 1_000) - PAST_S;
  #position = 0;
  #keyedAnswers = 0;

  private constructor(instances: readonly PlannedInstance[], key: string, file: string) {
    this.instances = instances;
    this.key = key;
    this.file = file;
  }

  /** A plan for these instances, its file written to `folder` under the server's name. */
  static async write(options: {
    instances: readonly PlannedInstance[];
    key: string;
    folder: string;
    name: string;
  }): Promise<ObservationPlan> {
    const { instances, key } = options;
    const file = `${options.folder}/${options.name}.txt`;
    const lines = instances.map(({ id, modeStrengths }) => `${id} ${modeStrengths.join(' ')}\n`);
    await writeFile(file, lines.join(''));
    return new ObservationPlan(instances, key, file);
  }

  /** The number of the next request, from 0, as if all runs were one. */
  get position(): number {
    return this.#position;
  }

  /** The timestamp of the next request's turn, in Unix seconds. */
  get nextS(): number {
    return this.#firstS + Math.floor(this.#position / this.instances.length) * STEP_S;
  }

  /** Observations with an `Idempotency-Key` that were answered. */
  get keyedAnswers(): number {
    return this.#keyedAnswers;
  }

  /** Lets the next request be the first of a turn. */
  beginTurn(): void {
    const { length } = this.instances;
    this.#position = Math.ceil(this.#position / length) * length;
  }

  /** Notes that a run has sent at most this many requests from `position` on. */
  use(requests: number): void {
    this.#position += requests;
  }

  /** Notes that this many observations with a key were answered. */
  noteKeyed(answers: number): void {
    this.#keyedAnswers += answers;
  }
}
