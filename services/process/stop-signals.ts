import { constants } from 'node:os';

/**
 * Signals that ask a process to end in good order. SIGHUP is one: the terminal was closed. Certificates
 * and secrets need no signal to be read again, because their files are watched.
 */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** What a shell adds to the number of the signal that ended a program. */
const ENDED_BY_SIGNAL = 128;

/**
 * Listens for SIGINT, SIGTERM and SIGHUP from this call on; the result aborts at the first of these.
 * A second signal ends the process at once. The kernel drops a signal to process 1 of a container while
 * nothing listens for the signal, so the executable calls this first.
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

/** The exit code of a command that one of these signals has ended, as shells report it. */
export function exitCodeOf(stop: AbortSignal): number {
  const name = STOP_SIGNALS.find((each) => each === stop.reason);
  return name === undefined ? 1 : ENDED_BY_SIGNAL + constants.signals[name];
}
