/** Takes a line for the person who waits. */
export type Print = (line: string) => void;

/** Prints nothing: for callers without a terminal. */
export const printNothing: Print = () => {};

/** What takes longer than this is announced, in milliseconds. */
const QUIET_MS_MAX = 2_000;

/** How often a long wait says that it goes on, in milliseconds. */
const REPEAT_MS = 5_000;

/**
 * Runs `work` and, while it takes long, prints what it is and how far: first after 2 s, then every 5 s.
 * `howFar` is asked for each line and may answer nothing.
 */
export async function withProgress<Result>(
  print: Print,
  what: string,
  work: () => Promise<Result>,
  howFar: () => string = () => '',
): Promise<Result> {
  const startedMs = performance.now();
  let timer = setTimeout(line, QUIET_MS_MAX);
  function line(): void {
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    print([`${what} ... ${seconds} s`, howFar()].filter((part) => part !== '').join(', '));
    timer = setTimeout(line, REPEAT_MS);
  }
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
