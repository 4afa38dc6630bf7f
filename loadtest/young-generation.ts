/** Less than the time between two readings, in milliseconds. Chosen. */
const ANSWER_MS_MAX = 5_000;

/** What V8 has taken for what is young, small and large. */
const YOUNG = /^nodejs_heap_space_size_total_bytes\{space="new(?:_large_object)?"\} (\S+)$/gm;

/**
 * How much of the memory of a process of the service is V8's young generation, in bytes; undefined: it
 * does not say. Under load V8 doubles it up to its limit, each process at a moment of its own and for good, so
 * that it hides whether what lives on grows.
 */
export async function youngGenerationBytes(operatorsPort: number): Promise<number | undefined> {
  const url = `http://127.0.0.1:${operatorsPort}/metrics`;
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  const text = await fetch(url, { signal })
    .then((answer) => answer.text())
    .catch(() => '');
  const spaces = [...text.matchAll(YOUNG)].map(([, bytes]) => Number(bytes));
  if (spaces.length === 0) return undefined;
  return spaces.reduce((sum, bytes) => sum + bytes, 0);
}
