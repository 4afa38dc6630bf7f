import type { ActorHostConfig } from '#actor-runtime/host-ports';
import type { Config } from '#config';
import { Fault } from '#errors/fault';
import { WIRE_ROLES } from '#grpc/tls';
import { Waits } from '#startup/process/lifetime';
import { logOrigin } from '#startup/process/node-name';
import { CredentialFiles } from '#startup/process/secrets';
import { wireTlsOf } from '#startup/process/tls';
import { openTracer } from '#startup/process/tracing';
import { type Clock, systemClock } from '#stdlib/clock';
import { systemRandomness } from '#stdlib/randomness';
import { releaseOf } from '#stdlib/release';
import type { Running } from '#stdlib/run';
import { SECRET_LINES_MAX } from '#stdlib/variables';
import { Dependencies } from '#telemetry/dependency';
import { FailureLog } from '#telemetry/log-limits';
import { createLogger, type Logger, linesLost, STANDARD_ERROR } from '#telemetry/logger';
import { createMetrics, type Metrics } from '#telemetry/metrics';
import { serveOps } from '#telemetry/ops-server';
import { type Tracer, traceFields } from '#telemetry/tracer';

/** Dependencies that every process has. */
export type Foundation = ReturnType<typeof foundationOf> & {
  /** Tracer of the process. Undefined if tracing is off. */
  readonly tracer?: Tracer | undefined;
};

/**
 * Foundation of a process: clock, randomness, logger, metrics, actor bounds, credential files,
 * waits and dependencies. `tls` reads the wire certificates and throws `ConfigError` if they are
 * unusable. Waits end when `stop` aborts.
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

/**
 * Foundation of a serving process, with its tracer. Disposed last, because the disposal sends the
 * recorded spans.
 */
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

/** Exports the count of log lines that this process failed to write. */
function countLostLines(metrics: Metrics): void {
  const counter = metrics.counter('log_lines_lost_total');
  let counted = 0;
  metrics.beforeScrape(() => {
    const lost = linesLost();
    counter.inc(lost - counted);
    counted = lost;
  });
}

/** Returns a function that logs bugs, and the causes of refusals that callers do not see. */
function bugReporter(logger: Logger, clock: Clock) {
  const failures = new FailureLog(logger, clock);
  return (error: unknown, traceparent?: string): void => {
    const trail = traceFields(traceparent);
    if (error instanceof Fault && error.code === 'service_unavailable') {
      failures.refused(trail, error);
    } else failures.bug(trail, error);
  };
}

/** Operators' port: metrics and probes. */
export type OperatorsPort = Running & {
  /** Adds a line to the readiness probe, until the process ends. */
  note(line: string): void;
  /** Marks the process as ready. Disposing the result marks it as closing. */
  ready(): Disposable;
};

/**
 * Opens the operators' port, which opens first and closes last of all ports. During start and
 * shutdown, the port answers scrapes and probes. The readiness probe then answers "not ready" with
 * the pending waits or the shutdown as the reason.
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

/** Replacement for secrets in a displayed configuration. */
const CENSOR = '[redacted]';

/**
 * Effective configuration of a process for its log and its admin port: every variable with a value,
 * including defaults, with secrets redacted.
 */
export function shownConfiguration(config: Config): Readonly<Record<string, unknown>> {
  const secret: ReadonlySet<string> = new Set(Object.keys(SECRET_LINES_MAX));
  const set = Object.entries(config).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set.map(([name, value]) => [name, secret.has(name) ? CENSOR : value]));
}

/**
 * Starts the log of a process. The first line has the release and the effective configuration.
 * Runtime warnings are logged as lines. In production, SIGUSR1 does not open an inspector.
 */
export function beginLog(logger: Logger, config: Config): void {
  logWarnings(logger);
  if (config.SERVICE_ENVIRONMENT === 'production') refuseInspector(logger);
  const { version: runtime } = process;
  logger.info({ runtime, pid: process.pid, configuration: shownConfiguration(config) }, 'starting');
}

/**
 * Logs warnings of Node.js and of libraries, which Node.js otherwise prints as text between JSON
 * lines.
 */
function logWarnings(logger: Logger): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message, stack }) => {
    logger.warn({ warning: name, why: message, stack }, 'Node.js warning');
  });
}

/**
 * Returns a function that reports why a process does not start. In production, where a collector
 * reads standard error, the report is a `fatal` log line. Elsewhere the report is one line of text.
 */
export function refusalReporter(config: Config, role: string): (text: string) => void {
  if (config.SERVICE_ENVIRONMENT !== 'production') return printRefusal;
  const logger = createLogger('error', logOrigin(config, role));
  return (text) => logger.fatal({ why: text }, 'the process does not start');
}

/** Writes one line of text to standard error. */
export function printRefusal(text: string): void {
  STANDARD_ERROR.write(`${text}\n`);
}

/**
 * Ignores SIGUSR1, on which Node.js opens an inspector port. Anyone who reaches that port can run
 * code as this user. `ctl process` takes profiles without a port.
 */
function refuseInspector(logger: Logger): void {
  process.on('SIGUSR1', () => {
    logger.warn('SIGUSR1 opens no inspector in production: use ctl process');
  });
}
