/** How often long work prints how far it is, in ms. */
const PRINT_EVERY_MS = 5_000;

/** Does `work`, and prints `line()` every 5 s meanwhile. */
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
