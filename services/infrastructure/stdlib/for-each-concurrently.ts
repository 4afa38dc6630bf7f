/**
 * Runs `task` for every item, with at most `concurrency` tasks in flight. Rejects with the first
 * error.
 */
export async function forEachConcurrently<Item>(
  items: readonly Item[],
  concurrency: number,
  task: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) await task(item);
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
}
