import { type Logger as PinoLogger, pino } from 'pino';

/** Structured log lines, one JSON object each. */
export type Logger = PinoLogger;

/** Levels, most talkative first; `silent` says nothing at all. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/**
 * A logger to standard error, so that standard output stays free for what a person asked for. Keys
 * and anything named like one are cut out wherever they might slip in.
 */
export function createLogger(level: LogLevel, service: string): Logger {
  return pino(
    {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: [
          'authorization',
          '*.authorization',
          'key',
          '*.key',
          'secret',
          '*.secret',
          'keyDigest',
          '*.keyDigest',
        ],
        censor: '[redacted]',
      },
    },
    pino.destination({ fd: 2, sync: true }),
  );
}
