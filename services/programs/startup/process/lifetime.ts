import { once } from 'node:events';
import { flushCompileCache } from 'node:module';
import { type Config, ConfigError } from '#config';
import { readHostPort } from '#stdlib/network';
import { type Logger, STANDARD_OUTPUT } from '#telemetry/logger';

/**
 * Maximum duration of closing, in milliseconds, after which the process exits with 1. An edge
 * drains for up to 10 s and then waits up to 10 s for a slow sender.
 */
export const CLOSING_MS_MAX = 25_000;

/**
 * Maximum time from closing to the exit of the process, in milliseconds. After an outage, the
 * Cassandra driver may leak a connection that would keep the process alive.
 */
const LINGER_MS_MAX = 500;

/** Running parts of a process; disposing closes them in order. */
export type Opened = AsyncDisposable;

/**
 * Opens the process, waits until `stop` aborts, and closes it. Fulfils with the exit code: 0 after
 * an orderly end, 1 if opening failed. Before a 1, calls `report` with the reason. Opens nothing if
 * `stop` has aborted already. When its signal aborts, `open` must reject and close everything that
 * it opened.
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
    // A killed process would leave no compiled code for its next start.
    flushCompileCache();
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

/** Exits even if something, for example a driver's socket, keeps the process alive. */
function lingerNoLonger(): void {
  setTimeout(() => process.exit(0), LINGER_MS_MAX).unref();
}

/**
 * From this call on, logs an uncaught error or unhandled rejection as one line and ends the process
 * with 1. State in memory is then undefined, but durable data is safe.
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

/** One-line message for an error at start, with the next step. */
function lineOf(error: unknown, config: Config): string {
  if (error instanceof ConfigError) return `configuration: ${error.message}`;
  const { message } = error as Error;
  const { code, port, address } = placeOf(error);
  switch (code) {
    case 'EADDRINUSE':
      return `${variablesOf(port, config)}port ${port ?? '?'} on ${address ?? 'this host'} is in use; stop the other process or choose another port`;
    case 'EACCES':
      return `${variablesOf(port, config)}port ${port ?? '?'} needs privileges that this user does not have; choose a port above 1023`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${hostVariablesOf(address, config)}${address ?? 'the address'} is not an address of this machine; choose another address`;
    default:
      return message.split('\n')[0] ?? 'failed to start';
  }
}

/** Variables with the port of a listener. */
const PORTS = [
  ...['SERVICE_PORT', 'SERVICE_METRICS_PORT', 'SERVICE_ADMIN_PORT', 'SERVICE_CONSOLE_PORT'],
  ...['SERVICE_ENGINE_LISTEN', 'SERVICE_LIMITER_LISTEN'],
] as const;

/** Prefix naming the variables that have this port. Several variables may have the same port. */
function variablesOf(port: number | string | undefined, config: Config): string {
  const named = PORTS.filter((name) => {
    const value = String(config[name as keyof Config]);
    return (readHostPort(value)?.port ?? Number(value)) === Number(port);
  });
  return named.length === 0 ? '' : `${named.join(' and ')}: `;
}

/** Variables with the host of a listener. */
const HOSTS = [
  ...['SERVICE_HOST', 'SERVICE_METRICS_HOST', 'SERVICE_CONSOLE_HOST'],
  ...['SERVICE_ENGINE_LISTEN', 'SERVICE_LIMITER_LISTEN'],
] as const;

/** Prefix naming the variables that have this host. */
function hostVariablesOf(host: string | undefined, config: Config): string {
  const named = HOSTS.filter((name) => {
    const value = String(config[name as keyof Config]);
    return (readHostPort(value)?.host ?? value) === host;
  });
  return named.length === 0 ? '' : `${named.join(' and ')}: `;
}

/** Error of a listener. `hostname` is a name that DNS cannot resolve. */
type ListenFailure = NodeJS.ErrnoException & {
  readonly port?: number;
  readonly address?: string;
  readonly hostname?: string;
};

/** Error code and address from a failed listener's error fields, or from gRPC's message. */
function placeOf(error: unknown) {
  const failed = error as ListenFailure;
  const [, code, address, port] = /listen (E[A-Z]+):.* (\S+):(\d+)/.exec(failed.message) ?? [];
  return {
    code: failed.code ?? code,
    address: failed.address ?? failed.hostname ?? address,
    port: failed.port ?? port,
  };
}

/** Logs that a process is ready, and prints its addresses for the person who started it. */
export function say(
  { service, logger }: { readonly service: string; readonly logger: Logger },
  addresses: Record<string, string>,
): void {
  logger.info({ addresses }, 'ready');
  const list = Object.entries(addresses).map(([name, address]) => `${name} ${address}`);
  STANDARD_OUTPUT.write(`${service} is ready: ${list.join(', ')}\n`);
}

/** Conditions that a process waits for before it can serve, shown by its readiness probe. */
export class Waits {
  readonly #stop: AbortSignal | undefined;
  readonly #missing = new Set<() => string>();
  readonly #obstacles: (() => string | undefined)[] = [];

  /** Waits end when `stop` aborts. Without `stop`, each wait lasts until its promise fulfils. */
  constructor(stop?: AbortSignal) {
    this.#stop = stop;
  }

  /**
   * Awaits `pending`. During the wait, the readiness probe shows `missing`. Rejects when `stop`
   * aborts.
   */
  async during<Value>(missing: () => string, pending: Promise<Value>): Promise<Value> {
    // A new function for each wait, because two waits may share `missing`.
    const entry = () => missing();
    this.#missing.add(entry);
    try {
      return await untilStopped(pending, this.#stop);
    } finally {
      this.#missing.delete(entry);
    }
  }

  /** Makes the process not ready while `obstacle` returns a line. */
  neverReadyWith(obstacle: () => string | undefined): void {
    this.#obstacles.push(obstacle);
  }

  /** Reasons why the started process cannot serve, one line each. */
  get obstacles(): readonly string[] {
    return this.#obstacles.flatMap((obstacle) => obstacle() ?? []);
  }

  /** Current waits, one line each. */
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
