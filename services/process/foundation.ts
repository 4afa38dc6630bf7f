import type { Config } from '#config';
import { Fault } from '#fault/fault';
import { type Clock, systemClock } from '#platform/clock';
import { Dependencies } from '#platform/dependency';
import { FailureLog } from '#platform/failure-log';
import { linesLost } from '#platform/line-stream';
import { createLogger, type Logger } from '#platform/logger';
import { createMetrics, type Metrics } from '#platform/metrics';
import { serveOps } from '#platform/ops-server';
import { systemRandomness } from '#platform/randomness';
import { releaseOf } from '#platform/release';
import type { Running } from '#platform/run';
import { traceFields } from '#platform/traceparent';
import type { Tracer } from '#platform/tracer';
import { CredentialFiles } from '#process/credential-files';
import { logOrigin } from '#process/node-name';
import { wireTlsOf } from '#process/tls-files';
import { openTracer } from '#process/tracing';
import { Waits } from '#process/waits';
import type { ActorHostConfig } from '#runtime/host-ports';
import { WIRE_ROLES } from '#wire/wire-roles';

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
