import { createInterface } from 'node:readline';
import type { Service } from '#test/support/service';

/** Levels of a line about a bug, and of the end of the process. */
const ERROR_LEVELS: readonly unknown[] = ['error', 'fatal'];

/** Findings of one run; as a rule the first ones say it all. */
const FOUND_MAX = 5;

/**
 * What the processes of a service say that must not be said, and the end of one, from now on. Each
 * finding ends with what `again` says at that moment.
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
