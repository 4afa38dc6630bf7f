import type { Config } from '#config';
import { STANDARD_ERROR } from '#platform/line-stream';
import { createLogger, type Logger } from '#platform/logger';
import { SECRET_LINES_MAX } from '#platform/secret-variables';
import { logOrigin } from '#process/node-name';

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
