import { type DestinationStream, pino } from 'pino';
import { STANDARD_ERROR } from '#platform/line-stream';
import { redacted, withoutKeys } from '#platform/redacted';

/**
 * Structured log lines, one JSON object each. No more of pino than this: what is bound to a child
 * or formatted into a message would pass the redaction of fields by.
 */
export type Logger = {
  readonly debug: WriteLine;
  readonly info: WriteLine;
  readonly warn: WriteLine;
  readonly error: WriteLine;
  readonly fatal: WriteLine;
  isLevelEnabled(level: LogLevel): boolean;
};

type WriteLine = {
  (fields: object, text: string): void;
  (text: string): void;
};

/**
 * How many 503s a second are logged with the whole chain of their causes and all stacks: three
 * kilobytes each, of which an outage would make thousands. Source: decision 165.
 */
export const CHAINS_PER_SECOND = 100;

/** Levels, most talkative first; `silent` says nothing at all. */
type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/**
 * A logger to standard error, so that standard output stays free for what a person asked for. A line
 * that cannot be written is dropped and counted (`line-stream`). Every
 * line goes through `redacted` before it is written as JSON and `withoutKeys` after: no secret that
 * has a name, and nothing that looks like an API key, is written at any depth.
 */
export function createLogger(
  level: LogLevel,
  service: string,
  destination: DestinationStream = STANDARD_ERROR,
): Logger {
  return pino(
    {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { log: redacted },
      // Errors are written by `redacted`; pino's own way with them is another one for each place.
      serializers: { err: (written: unknown) => written },
      hooks: { streamWrite: withoutKeys },
    },
    destination,
  );
}
