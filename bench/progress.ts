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

/** Returns a printer of progress lines, which begin with the seconds since this call. */
export function startedPrinter(): (line: string) => void {
  const startedMs = performance.now();
  return (line) => {
    const s = ((performance.now() - startedMs) / 1_000).toFixed(0);
    process.stderr.write(`${s.padStart(5)} s  ${line}\n`);
  };
}
