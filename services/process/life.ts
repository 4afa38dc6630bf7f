import { once } from 'node:events';
import { constants } from 'node:os';
import { type Config, ConfigError } from '#config';
import { type Logger, STANDARD_OUTPUT } from '#platform/logger';
import { readHostPort } from '#platform/network';

/**
 * How long closing may take before the process ends all the same, in milliseconds: an edge drains
 * for up to 10 s and then waits up to 10 s for a slow sender.
 */
export const CLOSING_MS_MAX = 25_000;

/**
 * How long a process may linger once everything is closed, in milliseconds: after an outage the
 * Cassandra driver may forget a connection of its own, which would keep the process for ever.
 */
const LINGER_MS_MAX = 500;

/** What a process runs; disposing it closes everything in order. */
export type Opened = AsyncDisposable;

/**
 * Opens, waits until `stop` aborts, closes. Fulfils with the exit code: 0 after an orderly end,
 * 1 and one call of `report` if opening failed. Nothing is opened if `stop` has aborted before.
 * `open` gives up and closes what it opened when its signal aborts.
 */
export async function live(
  open: (stop: AbortSignal) => Promise<Opened>,
  stop: AbortSignal,
  report: (text: string) => void,
  config: Config,
): Promise<number> {
  if (stop.aborted) return 0;
  let overdue: NodeJS.Timeout | undefined;
  stop.addEventListener('abort', () => {
    overdue = setTimeout(() => process.exit(1), CLOSING_MS_MAX);
  });
  let opened: Opened;
  try {
    opened = await open(stop);
  } catch (error) {
    if (!stop.aborted) {
      report(lineOf(error, config));
      return 1;
    }
    clearTimeout(overdue);
    lingerNoLonger();
    return 0;
  }
  if (!stop.aborted) await once(stop, 'abort');
  await opened[Symbol.asyncDispose]();
  clearTimeout(overdue);
  lingerNoLonger();
  return 0;
}

/** Ends the process although something, a driver's socket say, would keep it. */
function lingerNoLonger(): void {
  setTimeout(() => process.exit(0), LINGER_MS_MAX).unref();
}

/**
 * From here on an uncaught error, or an unhandled rejection, leaves one line in the log and ends
 * the process with 1: the state it left behind is unknown, and what is durable is safe.
 */
export function endOnUncaught(logger: Logger): void {
  process.on('uncaughtException', (err, origin) => {
    try {
      logger.fatal({ err, origin }, 'uncaught error: the process ends');
    } finally {
      process.exit(1);
    }
  });
}

/** What went wrong at start, in one line that says what to do. */
function lineOf(error: unknown, config: Config): string {
  if (error instanceof ConfigError) return `configuration: ${error.message}`;
  const { message } = error as Error;
  const { code, port, address } = placeOf(error);
  switch (code) {
    case 'EADDRINUSE':
      return `${variablesOf(port, config)}port ${port ?? '?'} on ${address ?? 'this host'} is taken; stop what uses it or choose another port`;
    case 'EACCES':
      return `${variablesOf(port, config)}port ${port ?? '?'} may not be opened by this user; choose one above 1023`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${hostVariablesOf(address, config)}${address ?? 'the address'} is not an address of this machine; choose one of it`;
    default:
      return message.split('\n')[0] ?? 'failed to start';
  }
}

/** Variables that name the port of a listener. */
const PORTS = [
  ...['SERVICE_PORT', 'SERVICE_METRICS_PORT', 'SERVICE_ADMIN_PORT', 'SERVICE_CONSOLE_PORT'],
  ...['SERVICE_ENGINE_LISTEN', 'SERVICE_LIMITER_LISTEN'],
] as const;

/** The variables whose value is this port, before a colon: two of them may name the same port. */
function variablesOf(port: number | string | undefined, config: Config): string {
  const named = PORTS.filter((name) => {
    const value = String(config[name as keyof Config]);
    return (readHostPort(value)?.port ?? Number(value)) === Number(port);
  });
  return named.length === 0 ? '' : `${named.join(' and ')}: `;
}

/** Variables that name the host of a listener. */
const HOSTS = [
  ...['SERVICE_HOST', 'SERVICE_METRICS_HOST', 'SERVICE_CONSOLE_HOST'],
  ...['SERVICE_ENGINE_LISTEN', 'SERVICE_LIMITER_LISTEN'],
] as const;

/** The variables whose host is this one, before a colon. */
function hostVariablesOf(host: string | undefined, config: Config): string {
  const named = HOSTS.filter((name) => {
    const value = String(config[name as keyof Config]);
    return (readHostPort(value)?.host ?? value) === host;
  });
  return named.length === 0 ? '' : `${named.join(' and ')}: `;
}

/** An error of listening; a name that DNS does not have is its `hostname`. */
type ListenFailure = NodeJS.ErrnoException & {
  readonly port?: number;
  readonly address?: string;
  readonly hostname?: string;
};

/** Where listening failed, and how: from the error itself, or from the text that gRPC makes of it. */
function placeOf(error: unknown) {
  const failed = error as ListenFailure;
  const [, code, address, port] = /listen (E[A-Z]+):.* (\S+):(\d+)/.exec(failed.message) ?? [];
  return {
    code: failed.code ?? code,
    address: failed.address ?? failed.hostname ?? address,
    port: failed.port ?? port,
  };
}

/** Logs that a process is ready, and prints where it can be reached for the person who started it. */
export function say(
  { service, logger }: { readonly service: string; readonly logger: Logger },
  addresses: Record<string, string>,
): void {
  logger.info({ addresses }, 'ready');
  const list = Object.entries(addresses).map(([name, address]) => `${name} ${address}`);
  STANDARD_OUTPUT.write(`${service} is ready: ${list.join(', ')}\n`);
}

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

/** What a process waits for before it can serve, as its readiness probe answers. */
export class Waits {
  readonly #stop: AbortSignal | undefined;
  readonly #missing = new Set<() => string>();
  readonly #obstacles: (() => string | undefined)[] = [];

  /** Waits end when `stop` aborts; without it they last as long as they take. */
  constructor(stop?: AbortSignal) {
    this.#stop = stop;
  }

  /**
   * What `pending` becomes; until then it is waited for, and `missing` says what it is. Rejects when the
   * process is to stop.
   */
  async during<Value>(missing: () => string, pending: Promise<Value>): Promise<Value> {
    // Another function for each wait: two may be for the same.
    const entry = () => missing();
    this.#missing.add(entry);
    try {
      return await untilStopped(pending, this.#stop);
    } finally {
      this.#missing.delete(entry);
    }
  }

  /** Keeps the process from being ready whenever `obstacle` answers a line. */
  neverReadyWith(obstacle: () => string | undefined): void {
    this.#obstacles.push(obstacle);
  }

  /** Why the process cannot serve although it has started, one line each. */
  get obstacles(): readonly string[] {
    return this.#obstacles.flatMap((obstacle) => obstacle() ?? []);
  }

  /** One line for each wait. */
  get lines(): readonly string[] {
    return [...this.#missing].map((missing) => `waiting for ${missing()}`);
  }
}

async function untilStopped<Value>(
  pending: Promise<Value>,
  stop: AbortSignal | undefined,
): Promise<Value> {
  if (stop === undefined) return await pending;
  stop.throwIfAborted();
  const stopped = Promise.withResolvers<never>();
  const onAbort = () => stopped.reject(stop.reason);
  stop.addEventListener('abort', onAbort);
  try {
    return await Promise.race([pending, stopped.promise]);
  } finally {
    stop.removeEventListener('abort', onAbort);
  }
}
