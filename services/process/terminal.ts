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

/** Writes to standard output; fulfils when its reader has taken enough for more to come. */
export async function writeOut(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}
