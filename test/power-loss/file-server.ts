import { createInterface } from 'node:readline';
import { fileVariables } from '#test/power-loss/service-on-file';
import { type ProcessRun, runScript } from '#test/support/process-run';

/** Maximum duration of the process, in milliseconds. */
const SERVER_MS_MAX = 3_600_000;

/** Timeout for opening or closing a file, in milliseconds. */
const STEP_MS_MAX = 60_000;

/** Addresses of the service: the origin of the API, and the URL of the admin port. */
export type Addresses = { readonly origin: string; readonly adminUrl: string };

/** A process that runs the service on one file after another. */
export class FileServer implements AsyncDisposable {
  readonly #run: ProcessRun;
  readonly #lines: AsyncIterator<string>;

  constructor() {
    const variables = { ...fileVariables(''), SERVICE_LOG_LEVEL: 'silent' };
    this.#run = runScript('test/power-loss/serve-files.ts', [], variables, SERVER_MS_MAX);
    const { stdout } = this.#run.child;
    if (stdout === null) throw new Error('the file server has no standard output');
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  }

  /** Serves a file while `use` runs, then stops cleanly. Rejects if the start fails. */
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

  /** Sends a line. Resolves to the output until the process has executed the line. */
  async #answerTo(line: string): Promise<string> {
    this.#run.child.stdin?.write(`${line}\n`);
    const cut = setTimeout(() => this.#run.child.kill('SIGKILL'), STEP_MS_MAX);
    try {
      for (let text = ''; ; ) {
        const { value, done } = await this.#lines.next();
        if (done === true) throw new Error(`the file server has ended: ${this.#run.stderr()}`);
        text += `${value}\n`;
        if (value.startsWith('failed: ')) throw new Error(value);
        if (value === 'opened' || value === 'closed') return text;
      }
    } finally {
      clearTimeout(cut);
    }
  }
}
