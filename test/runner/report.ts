import type { Outcome } from '#test/runner/job';
import { BUDGETS, type PartName } from '#test/runner/plan';

/** A test file or a program. */
export type Task = { readonly name: string; readonly file: string; readonly part: PartName };

/** A finished task. */
export type Finished = Task & Outcome & { readonly seconds: number };

/** Maximum time without a progress line, in milliseconds. */
const QUIET_MS_MAX = 10_000;

const SLOWEST_SHOWN = 10;

/** Lines per failure that the summary repeats, because logs are often cut at the start. */
const FAILURE_LINES_MAX = 40;

/**
 * Prints a line for each finished task, and a summary. If no task finishes for a while, prints the
 * task that has been running longest.
 */
export class RunReport implements Disposable {
  readonly #total: number;
  readonly #running = new Map<string, number>();
  readonly #finished: Finished[] = [];
  readonly #startedMs = performance.now();
  #printedMs = performance.now();
  readonly #timer = setInterval(() => this.#showLongest(), 1_000);

  /** `total` is the number of tasks. */
  constructor(total: number) {
    this.#total = total;
  }

  get finished(): readonly Finished[] {
    return this.#finished;
  }

  /** Runs a task and prints its outcome. */
  async follow({ name, file, part }: Task, run: () => Promise<Outcome>): Promise<Finished> {
    const startedMs = performance.now();
    this.#running.set(name, startedMs);
    const outcome = await run();
    this.#running.delete(name);
    const seconds = (performance.now() - startedMs) / 1_000;
    const finished = { ...outcome, name, file, part, seconds };
    this.#finished.push(finished);
    const verdict = outcome.failed > 0 ? 'FAILED' : 'ok';
    const skipped = outcome.skipped > 0 ? `, ${outcome.skipped} skipped` : '';
    this.#print(`${verdict} ${name}: ${outcome.passed} passed${skipped}, ${seconds.toFixed(1)} s`);
    if (outcome.failed > 0) console.log(outcome.text);
    else for (const line of warningsIn(outcome.text)) console.log(line);
    return finished;
  }

  /** Runs a failed task again. The new outcome replaces the old outcome. */
  async followAgain(failure: Finished, run: () => Promise<Outcome>): Promise<Finished> {
    this.#finished.splice(this.#finished.indexOf(failure), 1);
    this.#print(`running again, alone: ${failure.name}`);
    return await this.follow(failure, run);
  }

  /**
   * Prints the slowest tasks, the minutes per folder of `make test` and per further part with
   * warnings above the budgets, and all failures again.
   */
  summary(): void {
    const slowest = this.#finished.toSorted((one, other) => other.seconds - one.seconds);
    console.log('\nslowest files:');
    for (const { name, seconds } of slowest.slice(0, SLOWEST_SHOWN)) {
      console.log(`${seconds.toFixed(1).padStart(7)} s  ${name}`);
    }
    console.log('minutes by folder of make test, and by further part:');
    const groups = Map.groupBy(this.#finished, ({ file, part }) =>
      part === 'test' ? folderOf(file) : part,
    );
    for (const [group, files] of [...groups].sort(([one], [other]) => (one < other ? -1 : 1))) {
      const minutes = files.reduce((sum, { seconds }) => sum + seconds / 60, 0);
      const budget = BUDGETS[group] ?? Number.POSITIVE_INFINITY;
      const warning = minutes > budget ? `  WARNING: the budget is ${budget} min` : '';
      console.log(`${minutes.toFixed(1).padStart(7)}    ${group}${warning}`);
    }
    console.log(`elapsed: ${this.#elapsed()}\n`);
    for (const { name, failed, text } of this.#finished) {
      if (failed === 0) continue;
      const lines = text.trim().split('\n').slice(0, FAILURE_LINES_MAX);
      console.log(`FAILED ${name}\n${lines.join('\n')}\n`);
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #showLongest(): void {
    if (performance.now() - this.#printedMs < QUIET_MS_MAX) return;
    const [name, startedMs = 0] = [...this.#running][0] ?? [];
    if (name === undefined) return;
    const seconds = (performance.now() - startedMs) / 1_000;
    this.#print(`longest running: ${name}, ${seconds.toFixed(0)} s`);
  }

  #print(line: string): void {
    this.#printedMs = performance.now();
    const place = `${this.#finished.length}/${this.#total}`;
    console.log(`[${place.padStart(7)} ${this.#elapsed()}] ${line}`);
  }

  #elapsed(): string {
    const seconds = Math.floor((performance.now() - this.#startedMs) / 1_000);
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  }
}

/** Folder of a test file, at most two levels deep. */
function folderOf(file: string): string {
  const [root = '', folder = ''] = file.split('/');
  return folder.includes('.') ? root : `${root}/${folder}`;
}

/** Lines of a passed file that people should read. A warning begins with `warning: `. */
function warningsIn(text: string): string[] {
  return text.split('\n').filter((line) => line.startsWith('warning: '));
}
