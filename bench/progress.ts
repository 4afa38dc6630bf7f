/** How often long work tells how far it is, in ms. */
const TELL_EVERY_MS = 5_000;

/** Does `work`, and tells `line()` every 5 s meanwhile. */
export async function withProgress<Result>(
  line: () => string,
  tell: (line: string) => void,
  work: () => Promise<Result>,
): Promise<Result> {
  const telling = setInterval(() => tell(line()), TELL_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(telling);
  }
}
