import { writeSync } from 'node:fs';
import { type DestinationStream, pino } from 'pino';
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

/** How long a line waits for a reader whose pipe is full, in milliseconds. Chosen. */
const PIPE_MS_MAX = 50;

/** Pause between two tries to write into a full pipe, in milliseconds. */
const PIPE_RETRY_MS = 5;

/** Writes bytes, and returns how many; throws as `fs.writeSync` does. */
type WriteBytes = (bytes: Uint8Array) => number;

/**
 * One stream of lines for people and collectors. A line that cannot be written is dropped and counted:
 * a full disk or a closed pipe must not end the process. Source: decision 341.
 */
export class LineStream {
  readonly #writeBytes: WriteBytes;
  #lost = 0;
  #lastError: Error | undefined;
  /** Whether the stream ends in the middle of a line, because the disk filled there. */
  #isTorn = false;
  #isPipeFull = false;

  constructor(writeBytes: WriteBytes) {
    this.#writeBytes = writeBytes;
  }

  /** Number of lines that could not be written since the process began. */
  get lost(): number {
    return this.#lost;
  }

  /** Why the last of the lost lines could not be written. */
  get lastError(): Error | undefined {
    return this.#lastError;
  }

  /** Writes a text that ends with a line break; never throws. */
  write(text: string): void {
    const bytes = Buffer.from(this.#isTorn ? `\n${text}` : text);
    let done = 0;
    let waitedMs = this.#isPipeFull ? PIPE_MS_MAX : 0;
    while (done < bytes.length) {
      try {
        done += this.#writeBytes(bytes.subarray(done));
        this.#isPipeFull = false;
      } catch (error) {
        this.#isPipeFull = (error as NodeJS.ErrnoException).code === 'EAGAIN';
        if (this.#isPipeFull && waitedMs < PIPE_MS_MAX) {
          pause(PIPE_RETRY_MS);
          waitedMs += PIPE_RETRY_MS;
          continue;
        }
        this.#lost += linesIn(text);
        this.#lastError = error as Error;
        break;
      }
    }
    if (done > 0) this.#isTorn = done < bytes.length;
  }
}

/** Standard output of this process: greetings, and what a person asked for. */
export const STANDARD_OUTPUT = new LineStream((bytes) => writeSync(1, bytes));

/** Standard error of this process: log lines. */
export const STANDARD_ERROR = new LineStream((bytes) => writeSync(2, bytes));

/** Number of lines that this process could not write, on both streams. */
export function linesLost(): number {
  return STANDARD_OUTPUT.lost + STANDARD_ERROR.lost;
}

function linesIn(text: string): number {
  return Math.max(1, text.split('\n').length - 1);
}

/** Stops this thread: the lines of a log are written in their order. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
