/** Less than the time between two readings, in milliseconds. Chosen. */
const ANSWER_MS_MAX = 5_000;

const SPACES = /^nodejs_heap_space_size_(total|used)_bytes\{space="(\w+)"\} (\S+)$/gm;

/** What V8 has taken in a process of the service, in bytes. */
export type V8Heap = {
  /**
   * Set aside for what is young, small and large. Under load V8 doubles it up to its limit, each process at
   * a moment of its own and for good, so that it hides whether what lives on grows.
   */
  readonly young: number;
  /** In use by what is not young: right after a collection, what lives on. */
  readonly live: number;
};

/** The heap of a process of the service; undefined: it does not say. */
export async function v8HeapOf(operatorsPort: number): Promise<V8Heap | undefined> {
  const url = `http://127.0.0.1:${operatorsPort}/metrics`;
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  const text = await fetch(url, { signal })
    .then((answer) => answer.text())
    .catch(() => '');
  const spaces = [...text.matchAll(SPACES)];
  if (spaces.length === 0) return undefined;
  const heap = { young: 0, live: 0 };
  for (const [, size, name = '', bytes] of spaces) {
    const isYoung = name.startsWith('new');
    if (isYoung && size === 'total') heap.young += Number(bytes);
    if (!isYoung && size === 'used') heap.live += Number(bytes);
  }
  return heap;
}
