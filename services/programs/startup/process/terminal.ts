import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';

/* Terminal of `ctl`, in its own module, because the executable loads this module only for `ctl`. */

/** Function that asks the user at the terminal. Undefined if standard input is no terminal. */
export function terminalQuestion(): ((question: string) => Promise<string>) | undefined {
  if (process.stdin.isTTY !== true) return undefined;
  return async (question) => {
    using lines = createInterface({ input: process.stdin, output: process.stderr });
    return await lines.question(question);
  };
}

/**
 * From this call on, exits if the output cannot be written. Prints the cause, for example a full
 * disk, unless the reader has closed the pipe (`ctl accounts list | head`).
 */
export function endWithoutReader(): void {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code !== 'EPIPE') process.stderr.write(`ctl: cannot write the output: ${message}\n`);
    process.exit(1);
  });
  process.stderr.on('error', () => process.exit(1));
}

/** Fulfils when all printed text is written. */
export async function writtenOut(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    await new Promise<void>((resolve) => stream.write('', () => resolve()));
  }
}

/** Writes to standard output with back-pressure: fulfils when the stream accepts more text. */
export async function writeOut(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}
