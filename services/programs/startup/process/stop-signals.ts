import { constants } from 'node:os';

/*
 * Imports no other file of the service, because the entry point imports this file before it enables
 * the compile cache.
 */

/**
 * Signals that request an orderly shutdown. A closed terminal sends SIGHUP. Changed certificates
 * and secrets need no signal, because their files are watched.
 */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Offset that shells add to a signal's number for the exit code. */
const ENDED_BY_SIGNAL = 128;

/**
 * Listens for SIGINT, SIGTERM and SIGHUP from this call on. The result aborts at the first signal.
 * A second signal ends the process immediately. The executable calls this function first, because
 * the kernel drops signals without a listener to process 1 of a container.
 */
export function listenForStop(): AbortSignal {
  const stopping = new AbortController();
  for (const name of STOP_SIGNALS) {
    process.on(name, () => {
      if (stopping.signal.aborted) process.exit(1);
      stopping.abort(name);
    });
  }
  return stopping.signal;
}

/** Exit code of a command that a stop signal has ended. Shells report the same code. */
export function exitCodeOf(stop: AbortSignal): number {
  const name = STOP_SIGNALS.find((each) => each === stop.reason);
  return name === undefined ? 1 : ENDED_BY_SIGNAL + constants.signals[name];
}
