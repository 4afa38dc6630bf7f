import { writeSync } from 'node:fs';
import { type DestinationStream, pino } from 'pino';
import { redacted, withoutKeys } from '#telemetry/redacted';

/**
 * Structured log lines, one JSON object each. The rest of pino's interface is hidden, because child
 * bindings and formatted messages would bypass the redaction of fields.
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

/** Log levels, most verbose first. `silent` writes nothing. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
/** Level of a logger. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Fields of every line that identify the process. */
export type LogOrigin = {
  /** `edge`, `engine`, `limiter`, `console` or `standalone`. */
  readonly role: string;
  /** Name of the process, as in `ctl nodes` and in traces. */
  readonly node: string;
  readonly release: string;
};

/** Logger whose level can be changed at run time. */
export type AdjustableLogger = Logger & { level: string };

/**
 * Creates a logger to standard error; standard output is reserved for results. A line that cannot
 * be written is dropped and counted (`LineStream`).
 *
 * Every line passes `redacted` before serialization and `withoutKeys` after it. At any depth, this
 * removes the values of fields with a secret's name and any text that looks like an API key.
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
      // `redacted` serializes errors at every depth. Pino's own serializer would handle only some
      // fields.
      serializers: { err: (written: unknown) => written },
      hooks: { streamWrite: withoutKeys },
    },
    destination,
  );
}

/** Maximum time that a line waits for a reader whose pipe is full, in milliseconds. */
const PIPE_MS_MAX = 50;

/** Pause between two attempts to write into a full pipe, in milliseconds. */
const PIPE_RETRY_MS = 5;

/** Writes bytes and returns the number of written bytes. Throws as `fs.writeSync` does. */
type WriteBytes = (bytes: Uint8Array) => number;

/**
 * Line-oriented output stream. A line that cannot be written is dropped and counted, because a full
 * disk or a closed pipe must not end the process. Source: decision 341.
 */
export class LineStream {
  readonly #writeBytes: WriteBytes;
  #lost = 0;
  #lastError: Error | undefined;
  /** Whether the last line was written only in part, for example because the disk is full. */
  #isTorn = false;
  #isPipeFull = false;

  constructor(writeBytes: WriteBytes) {
    this.#writeBytes = writeBytes;
  }

  /** Number of lines that could not be written since the process began. */
  get lost(): number {
    return this.#lost;
  }

  /** Reason why the last lost line could not be written. */
  get lastError(): Error | undefined {
    return this.#lastError;
  }

  /** Writes a text that ends with a line break. Never throws. */
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

/** Standard output of this process, for results. */
export const STANDARD_OUTPUT = new LineStream((bytes) => writeSync(1, bytes));

/** Standard error of this process, for log lines. */
export const STANDARD_ERROR = new LineStream((bytes) => writeSync(2, bytes));

/** Number of lines lost on both streams. */
export function linesLost(): number {
  return STANDARD_OUTPUT.lost + STANDARD_ERROR.lost;
}

function linesIn(text: string): number {
  return Math.max(1, text.split('\n').length - 1);
}

/** Blocks this thread, so that log lines stay in order. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
