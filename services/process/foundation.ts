import type { Config } from '#config';
import { Fault } from '#fault/fault';
import { type Clock, systemClock } from '#platform/clock';
import { Dependencies } from '#platform/dependency';
import { FailureLog } from '#platform/log-limits';
import { createLogger, type Logger, linesLost, STANDARD_ERROR } from '#platform/logger';
import { createMetrics, type Metrics } from '#platform/metrics';
import { serveOps } from '#platform/ops-server';
import { systemRandomness } from '#platform/randomness';
import { releaseOf } from '#platform/release';
import type { Running } from '#platform/run';
import { type Tracer, traceFields } from '#platform/tracer';
import { SECRET_LINES_MAX } from '#platform/variables';
import { Waits } from '#process/life';
import { logOrigin } from '#process/node-name';
import { CredentialFiles } from '#process/secrets';
import { wireTlsOf } from '#process/tls';
import { openTracer } from '#process/tracing';
import type { ActorHostConfig } from '#runtime/host-ports';
import { WIRE_ROLES } from '#wire/tls';

/** What every process has, whatever it serves. */
export type Foundation = ReturnType<typeof foundationOf> & {
  /** Undefined where nothing is traced. */
  readonly tracer?: Tracer | undefined;
};

/**
 * Clock, randomness, logger and metrics of a process, the bounds of its actors, the files of
 * certificates and secrets that it watches, what it waits for, and its certificates for a process that
 * speaks to others: reading them throws `ConfigError` when they are unusable. Its waits end when `stop`
 * aborts.
 */
export function foundationOf(config: Config, service: string, stop?: AbortSignal) {
  const clock = systemClock;
  const logger = createLogger(config.SERVICE_LOG_LEVEL, logOrigin(config, service));
  const actors: ActorHostConfig = {
    idleAgeMs: config.SERVICE_ACTOR_IDLE_S * 1_000,
    memoryBytesMax: config.SERVICE_ACTOR_MEMORY_MIB * 1_024 * 1_024,
  };
  const onBug = bugReporter(logger, clock);
  const metrics = createMetrics(clock);
  countLostLines(metrics);
  metrics
    .gauge('identity_engine_build_info')
    .labels({ version: releaseOf(), role: service })
    .set(1);
  const credentials = new CredentialFiles({ clock, logger, metrics });
  const role = WIRE_ROLES.find((name) => name === service);
  const tls = () => wireTlsOf(config, { credentials, clock }, role);
  const common = { service, logger, actors, onBug, metrics, clock, credentials };
  const waits = new Waits(stop);
  const dependencies = new Dependencies({ clock, logger });
  return { ...common, dependencies, randomness: systemRandomness, waits, tls };
}

/** The same for a process that serves, with its tracer; disposed last, it sends what is recorded. */
export async function openFoundation(
  config: Config,
  service: string,
  stop?: AbortSignal,
): Promise<Foundation & AsyncDisposable> {
  const foundation = foundationOf(config, service, stop);
  const tracer = await openTracer(config, service, foundation);
  const close = async () => {
    foundation.credentials[Symbol.dispose]();
    await tracer?.[Symbol.asyncDispose]();
  };
  return { ...foundation, tracer, [Symbol.asyncDispose]: close };
}

/** Shows in every scrape how many lines this process could not write. */
function countLostLines(metrics: Metrics): void {
  const counter = metrics.counter('log_lines_lost_total');
  let counted = 0;
  metrics.beforeScrape(() => {
    const lost = linesLost();
    counter.inc(lost - counted);
    counted = lost;
  });
}

/** Logs bugs, and refusals whose causes do not leave this process. */
function bugReporter(logger: Logger, clock: Clock) {
  const failures = new FailureLog(logger, clock);
  return (error: unknown, traceparent?: string): void => {
    const trail = traceFields(traceparent);
    if (error instanceof Fault && error.code === 'service_unavailable') {
      failures.refused(trail, error);
    } else failures.bug(trail, error);
  };
}

/** The operators' port of a process. */
export type OperatorsPort = Running & {
  /** Adds a line to the readiness probe, until the process ends. */
  note(line: string): void;
  /** Says from now on that the process can serve; the returned disposable takes that back. */
  ready(): Disposable;
};

/**
 * Opens the operators' port, which is opened first and closed last: while the process starts and
 * while it closes, probes and scrapes are answered, and the answer is "not ready", with what it waits
 * for or that it closes.
 */
export async function serveOperators(
  config: Config,
  { metrics, credentials, waits, dependencies }: Foundation,
): Promise<OperatorsPort> {
  let isReady = false;
  let isClosing = false;
  const { SERVICE_METRICS_HOST: host, SERVICE_METRICS_PORT: port } = config;
  const lines: string[] = [];
  const names = config.SERVICE_METRICS_NAMES;
  const whyNot = () => (isClosing ? ['closing'] : waits.lines);
  const notes = () => [
    ...(isReady ? waits.obstacles : whyNot()),
    ...credentials.refusals,
    ...dependencies.notes,
    ...lines,
  ];
  const server = await serveOps({
    host,
    port,
    names,
    metrics,
    isReady: () => isReady && waits.obstacles.length === 0,
    notes,
  });
  return {
    ...server,
    note: (line) => void lines.push(line),
    ready() {
      isReady = true;
      return {
        [Symbol.dispose]: () => {
          isReady = false;
          isClosing = true;
        },
      };
    },
  };
}

/** Replaces the value of a secret in what is shown of a configuration. */
const CENSOR = '[redacted]';

/**
 * Effective configuration of a process, as its log and its admin port show it: each variable that has
 * a value, defaults included, and never a secret.
 */
export function shownConfiguration(config: Config): Readonly<Record<string, unknown>> {
  const secret: ReadonlySet<string> = new Set(Object.keys(SECRET_LINES_MAX));
  const set = Object.entries(config).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set.map(([name, value]) => [name, secret.has(name) ? CENSOR : value]));
}

/**
 * Begins the log of a process: the first line has its release and its effective configuration; warnings
 * of the runtime become lines; in production SIGUSR1 opens no inspector.
 */
export function beginLog(logger: Logger, config: Config): void {
  logWarnings(logger);
  if (config.SERVICE_ENVIRONMENT === 'production') refuseInspector(logger);
  const { version: runtime } = process;
  logger.info({ runtime, pid: process.pid, configuration: shownConfiguration(config) }, 'starting');
}

/** Logs warnings of Node.js and of libraries, which Node.js would print as text between JSON lines. */
function logWarnings(logger: Logger): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message, stack }) => {
    logger.warn({ warning: name, why: message, stack }, 'warning of the runtime');
  });
}

/**
 * Reports why a process does not start. In production, where standard error goes to a collector, the
 * report is a `fatal` line of the log; elsewhere one line of text for the person at the terminal.
 */
export function refusalReporter(config: Config, role: string): (text: string) => void {
  if (config.SERVICE_ENVIRONMENT !== 'production') return printRefusal;
  const logger = createLogger('error', logOrigin(config, role));
  return (text) => logger.fatal({ why: text }, 'the process does not start');
}

/** One line of text on standard error. */
export function printRefusal(text: string): void {
  STANDARD_ERROR.write(`${text}\n`);
}

/**
 * Ignores SIGUSR1, at which Node.js opens a port of the inspector: whoever reaches the port runs code as
 * this user. `ctl process` takes profiles without a port.
 */
function refuseInspector(logger: Logger): void {
  process.on('SIGUSR1', () => {
    logger.warn('SIGUSR1 opens no inspector in production: use ctl process');
  });
}
