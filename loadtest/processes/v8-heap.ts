/** Timeout in ms, below the interval between readings. */
const ANSWER_MS_MAX = 5_000;

const SPACES = /^nodejs_heap_space_size_(total|used)_bytes\{space="(\w+)"\} (\S+)$/gm;

/** Heap usage of a service process, in bytes. */
export type V8Heap = {
  /**
   * Space reserved for young objects, small and large. V8 may double this space at any time, up to
   * a limit; in the total memory, this would look like growth.
   */
  readonly young: number;
  /** Used space outside the young generation: live data and uncollected garbage. */
  readonly live: number;
};

/** Heap usage of a service process; undefined if not reported. */
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
