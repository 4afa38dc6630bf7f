import { createInterface } from 'node:readline';
import { fileVariables } from '#test/power-loss/service-on-file';
import { type ProcessRun, runScript } from '#test/support/process-run';

/** Maximum lifetime of a file server, in milliseconds. */
const SERVER_MS_MAX = 3_600_000;

/** Timeout for opening or closing a file, in milliseconds. */
const STEP_MS_MAX = 60_000;

/** Addresses of a service: API without path, and admin port. */
export type Addresses = { readonly origin: string; readonly adminUrl: string };

/** Runs the service on one file after the other, in a separate process. */
export class FileServer implements AsyncDisposable {
  readonly #run: ProcessRun;
  readonly #lines: AsyncIterator<string>;

  constructor() {
    const variables = { ...fileVariables(''), SERVICE_LOG_LEVEL: 'silent' };
    this.#run = runScript('test/power-loss/serve-files.ts', [], variables, SERVER_MS_MAX);
    const { stdout } = this.#run.child;
    if (stdout === null) throw new Error('a server of files answers on its standard output');
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  }

  /**
   * Serves a file while `use` runs, then stops cleanly. Rejects with the error line of a failed
   * start.
   */
  async during<Result>(
    file: string,
    use: (addresses: Addresses) => Promise<Result>,
  ): Promise<Result> {
    const welcome = await this.#answerTo(file);
    const origin = /API +(http:\S+)\/v1/.exec(welcome)?.[1] ?? '';
    const adminUrl = /Admin +(http:\S+)/.exec(welcome)?.[1] ?? '';
    try {
      return await use({ origin, adminUrl });
    } finally {
      await this.#answerTo('close');
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#run.child.stdin?.end();
    await this.#run.ended;
  }

  /** Output of the process until it has executed a line. */
  async #answerTo(line: string): Promise<string> {
    this.#run.child.stdin?.write(`${line}\n`);
    const cut = setTimeout(() => this.#run.child.kill('SIGKILL'), STEP_MS_MAX);
    try {
      for (let text = ''; ; ) {
        const { value, done } = await this.#lines.next();
        if (done === true) throw new Error(`the server of files has ended: ${this.#run.stderr()}`);
        text += `${value}\n`;
        if (value.startsWith('failed: ')) throw new Error(value);
        if (value === 'opened' || value === 'closed') return text;
      }
    } finally {
      clearTimeout(cut);
    }
  }
}
