/** Interval between progress lines, in ms. */
const PRINT_EVERY_MS = 5_000;

/** Runs `work` and meanwhile prints `line()` every 5 s. */
export async function withProgress<Result>(
  line: () => string,
  print: (line: string) => void,
  work: () => Promise<Result>,
): Promise<Result> {
  const printing = setInterval(() => print(line()), PRINT_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(printing);
  }
}
