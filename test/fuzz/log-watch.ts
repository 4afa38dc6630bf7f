import { createInterface } from 'node:readline';
import type { Service } from '#test/support/servers/service';

/** Log levels that indicate a bug or a crash. */
const ERROR_LEVELS: readonly unknown[] = ['error', 'fatal'];

/** Maximum findings per run. The first findings usually suffice. */
const FOUND_MAX = 5;

/**
 * Reports errors and lines without JSON in the logs of the processes, and the end of a process.
 * Each finding ends with the result of `again` at that time: the commands to reproduce the finding.
 */
export function watchLog(
  { processes }: Pick<Service, 'processes'>,
  again: () => string,
): { readonly found: readonly string[] } {
  const found: string[] = [];
  const note = (what: string) => {
    if (found.length < FOUND_MAX) found.push(`${what}\n${again()}`);
  };
  for (const [name, child] of processes) {
    if (child.stderr !== null) {
      createInterface({ input: child.stderr }).on('line', (line) => {
        if (isError(line)) note(`in the log of ${name}: ${line}`);
      });
    }
    child.once('exit', (code, signal) => note(`${name} has ended with ${code ?? signal}`));
  }
  return { found };
}

function isError(line: string): boolean {
  try {
    return ERROR_LEVELS.includes(JSON.parse(line).level);
  } catch {
    return line !== '';
  }
}
