import { writeFile } from 'node:fs/promises';

/**
 * Number of instances of a run in memory or on SQLite. If a connection stalls until the next turn,
 * another connection observes the same instance first, and the late observation is throttled. At
 * 25,000 requests/s, 4,000 instances tolerate a stall of 160 ms. 1,000 instances tolerated 45 ms,
 * which was too short.
 */
export const INSTANCES = 4_000;

/**
 * Number of instances of the durable comparison. With 256 requests in flight, at least 744 other
 * answers (1,000 − 256) lie between two observations of an instance. Every durable server here
 * needs more than 45 ms for 744 answers, so this comparison tolerates stalls of 45 ms.
 */
export const DURABLE_INSTANCES = 1_000;

/**
 * Number of instances of the durable comparison with many instances. Each instance is observed
 * rarely, so few observations share a checkpoint. Source: the project's targets.
 */
export const MANY_INSTANCES = 50_000;

/** Seconds between two observations of an instance: the pace of a typical agent. */
export const STEP_S = 60;

/** Age of the first observation, in s: 200 days, far more than a run needs. */
const PAST_S = 200 * 86_400;

/** An instance of a run, and the usual strength of its seven modes. */
export type PlannedInstance = { readonly id: string; readonly modeStrengths: readonly number[] };

/**
 * Instances of one server and the timestamps of their observations.
 *
 * Every run observes the instances in turn and advances time by `STEP_S` per turn, so that no
 * observation is throttled (interface 8.3). A run continues where the previous run ended, so that
 * all instances are observed equally often.
 */
export class ObservationPlan {
  readonly instances: readonly PlannedInstance[];
  readonly key: string;
  /** File for wrk and k6: one line per instance with its id and mode strengths. */
  readonly file: string;
  readonly #firstS = Math.floor(Date.now() / 1_000) - PAST_S;
  #position = 0;
  #keyedAnswers = 0;

  private constructor(instances: readonly PlannedInstance[], key: string, file: string) {
    this.instances = instances;
    this.key = key;
    this.file = file;
  }

  /** Creates a plan for these instances and writes the plan's file `<name>.txt` to `folder`. */
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

  /** Number of the next request, from 0, over all runs. */
  get position(): number {
    return this.#position;
  }

  /** Timestamp of the next request's turn, in Unix seconds. */
  get nextS(): number {
    return this.#firstS + Math.floor(this.#position / this.instances.length) * STEP_S;
  }

  /** Number of answered observations with an `Idempotency-Key`. */
  get keyedAnswers(): number {
    return this.#keyedAnswers;
  }

  /** Advances to the first request of the next turn. */
  beginTurn(): void {
    const { length } = this.instances;
    this.#position = Math.ceil(this.#position / length) * length;
  }

  /** Advances past a run's requests; `requests` is an upper bound. */
  use(requests: number): void {
    this.#position += requests;
  }

  /** Counts answered observations with a key. */
  noteKeyed(answers: number): void {
    this.#keyedAnswers += answers;
  }
}
