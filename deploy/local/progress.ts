/** Prints a progress line for people. */
export type Print = (line: string) => void;

/** Prints nothing, for callers without a terminal. */
export const printNothing: Print = () => {};

/** Time before the first progress line, in ms. */
const QUIET_MS_MAX = 2_000;

/** Interval between later progress lines, in ms. */
const REPEAT_MS = 5_000;

/**
 * Runs `work`. After 2 s, and then every 5 s, prints `what` with the elapsed time and the text of
 * `howFar`, which may be empty.
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
