import { writeFile } from 'node:fs/promises';

/** Instances that a run spreads its requests over. Enough that no two requests of one meet. */
export const INSTANCES = 1_000;

/** How far back the first observation lies, in s: 200 days, more seconds than any run needs. */
const PAST_S = 200 * 86_400;

/**
 * The instances of one server and how far their observations' timestamps have come.
 *
 * Every run takes the instances in turns and adds one second with every turn, so that no
 * observation is throttled (spec 8.3); the next run starts after the last second used.
 */
export class ObservationPlan {
  readonly ids: readonly string[];
  readonly key: string;
  /** A file with one instance id a line, for wrk and k6. */
  readonly file: string;
  #nextS = Math.floor(Date.now() / 1_000) - PAST_S;

  private constructor(ids: readonly string[], key: string, file: string) {
    this.ids = ids;
    this.key = key;
    this.file = file;
  }

  /** A plan for these instances, its file written to `folder` under the server's name. */
  static async write(options: {
    ids: readonly string[];
    key: string;
    folder: string;
    name: string;
  }): Promise<ObservationPlan> {
    const file = `${options.folder}/${options.name}.txt`;
    await writeFile(file, `${options.ids.join('\n')}\n`);
    return new ObservationPlan(options.ids, options.key, file);
  }

  /** The first timestamp that no run has used, in Unix seconds. */
  get nextS(): number {
    return this.#nextS;
  }

  /** Notes that a run has sent at most this many requests from `nextS` on. */
  use(requests: number): void {
    this.#nextS += Math.ceil(requests / this.ids.length) + 1;
  }
}
