import { fileVariables } from '#test/power-loss/service-on-file';
import { type ProcessRun, runScript } from '#test/support/process-run';

/** How long a server of files lives at most, in milliseconds. */
const SERVER_MS_MAX = 3_600_000;

/** How long one opening or closing may take, in milliseconds. */
const STEP_MS_MAX = 60_000;

/** The service on one file after the other, in a process of its own. One at a time. */
export class FileServer implements AsyncDisposable {
  readonly #run: ProcessRun;
  #number = 0;

  constructor() {
    const variables = { ...fileVariables(''), SERVICE_LOG_LEVEL: 'silent' };
    this.#run = runScript('test/power-loss/serve-files.ts', [], variables, SERVER_MS_MAX);
  }

  /**
   * Serves a file while `use` runs, which gets the URL of the admin port, and stops in good order.
   * Rejects with the line that a start leaves that fails.
   */
  async during<Result>(file: string, use: (adminUrl: string) => Promise<Result>): Promise<Result> {
    this.#number += 1;
    await this.#answerTo(file, 'opened');
    try {
      const addresses = [...this.#run.stdout().matchAll(/Admin +(http:\S+)/g)];
      return await use(addresses.at(-1)?.[1] ?? '');
    } finally {
      await this.#answerTo('close', 'closed');
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#run.child.stdin?.end();
    await this.#run.ended;
  }

  async #answerTo(line: string, due: 'opened' | 'closed'): Promise<void> {
    const answer = new RegExp(`^(${due}|failed) ${this.#number}\\b.*$`, 'm');
    const cut = setTimeout(() => this.#run.child.kill('SIGKILL'), STEP_MS_MAX);
    this.#run.child.stdin?.write(`${line}\n`);
    await this.#run.says(answer).finally(() => clearTimeout(cut));
    const [said = '', kind] = answer.exec(this.#run.stdout()) ?? [];
    if (kind === 'failed') throw new Error(said);
  }
}
