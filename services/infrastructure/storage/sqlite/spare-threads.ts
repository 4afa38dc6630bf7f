import { Worker } from 'node:worker_threads';

/*
 * Threads for files. A thread needs a tenth of a second to load its modules, so a process that will
 * serve a file starts its threads while it loads its own modules.
 */

/** Threads of a served file: the writer, the reader, and the reader for long queries. */
const THREADS = 3;

const spare: Worker[] = [];

/** Starts the threads of a served file. They wait until `newThread` returns them. */
export function startSpareThreads(): void {
  while (spare.length < THREADS) spare.push(started());
}

/** A thread that waits for its `ThreadData` as first message. Does not keep the process alive. */
export function newThread(): Worker {
  return spare.pop() ?? started();
}

function started(): Worker {
  const worker = new Worker(new URL('thread.ts', import.meta.url));
  worker.unref();
  return worker;
}
