import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';

/** Asks the user at the terminal of this process; undefined where it has none. */
export function terminalQuestion(): ((question: string) => Promise<string>) | undefined {
  if (process.stdin.isTTY !== true) return undefined;
  return async (question) => {
    using lines = createInterface({ input: process.stdin, output: process.stderr });
    return await lines.question(question);
  };
}

/**
 * Ends this process when its output cannot be written: without a word when nobody reads it any more
 * (`ctl accounts list | head`), else with a line that names the cause (a full disk).
 */
export function endWithoutReader(): void {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code !== 'EPIPE') process.stderr.write(`ctl: the output is not written: ${message}\n`);
    process.exit(1);
  });
  process.stderr.on('error', () => process.exit(1));
}

/** Fulfils when everything that was printed is written. */
export async function writtenOut(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    await new Promise<void>((resolve) => stream.write('', () => resolve()));
  }
}

/** Writes to standard output; fulfils when its reader has taken enough for more to come. */
export async function writeOut(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}
