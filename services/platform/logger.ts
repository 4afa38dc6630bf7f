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

/** Levels, most talkative first; `silent` writes nothing at all. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
/** How much a logger writes. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Fields of every line: the process that wrote the line. */
export type LogOrigin = {
  /** `edge`, `engine`, `limiter`, `console` or `standalone`. */
  readonly role: string;
  /** Name of the process, the same as in `ctl nodes` and in traces. */
  readonly node: string;
  readonly release: string;
};

/** A logger whose level can be changed while the process runs. */
export type AdjustableLogger = Logger & { level: string };

/**
 * A logger to standard error, so that standard output stays free for what a person asked for. A line
 * that cannot be written is dropped and counted (`line-stream`). Every
 * line goes through `redacted` before it is written as JSON and `withoutKeys` after: no secret that
 * has a name, and nothing that looks like an API key, is written at any depth.
 */
export function createLogger(
  level: LogLevel,
  origin: LogOrigin,
  destination: DestinationStream = STANDARD_ERROR,
): AdjustableLogger {
  return pino(
    {
      level,
      base: origin,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { log: redacted, level: (label) => ({ level: label }) },
      // Errors are written by `redacted`; pino's own way with them is another one for each place.
      serializers: { err: (written: unknown) => written },
      hooks: { streamWrite: withoutKeys },
    },
    destination,
  );
}
