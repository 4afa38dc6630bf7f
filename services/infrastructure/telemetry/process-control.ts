import { mkdtemp, writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeHeapSnapshot } from 'node:v8';
import { Fault } from '#errors/fault';
import { type Clock, sleep } from '#stdlib/clock';
import type { AdjustableLogger, LogLevel, LogOrigin } from '#telemetry/logger';

/** File that a process writes for its operator. */
export type WrittenFile = { readonly file: string; readonly ready_in_s: number };

type ProcessControlOptions = {
  readonly logger: AdjustableLogger;
  readonly clock: Clock;
  readonly origin: LogOrigin;
  /** Effective configuration with secrets redacted. */
  readonly configuration: Readonly<Record<string, unknown>>;
};

/**
 * Operations on a running process for its operator: log level, effective configuration, CPU profile
 * and heap snapshot. None of them opens an inspector port.
 */
export class ProcessControl {
  readonly #options: ProcessControlOptions;
  #isBusy = false;

  constructor(options: ProcessControlOptions) {
    this.#options = options;
  }

  /** Process, log level and effective configuration. */
  describe(): Readonly<Record<string, unknown>> {
    const { logger, origin, configuration } = this.#options;
    const { pid, version: runtime } = process;
    return { ...origin, pid, runtime, log_level: logger.level, configuration };
  }

  /** Changes the log level until the process ends. */
  setLogLevel(level: LogLevel, requestedBy: string): { readonly log_level: string } {
    const { logger } = this.#options;
    const before = logger.level;
    // The line about the change must be logged even if the former level hides `info` lines.
    if (before === 'silent' || before === 'warn' || before === 'error') logger.level = 'info';
    logger.info({ before, level, requestedBy }, 'the log level is changed');
    logger.level = level;
    return { log_level: logger.level };
  }

  /**
   * Starts a CPU profile of `seconds`. Returns immediately with the path to which the profile will
   * be written. Throws `conflict` while another profile or snapshot is running, and
   * `service_unavailable` if no temporary file can be created.
   */
  async profile(seconds: number, requestedBy: string): Promise<WrittenFile> {
    this.#begin();
    const file = await this.#newFile('cpu.cpuprofile').catch((error: unknown) => this.#fail(error));
    const { logger, clock } = this.#options;
    logger.info({ file, seconds, requestedBy }, 'a CPU profile is taken');
    void profileOf(seconds, clock)
      .then((text) => writeFile(file, text, { mode: 0o600 }))
      .then(() => logger.info({ file }, 'the CPU profile is written'))
      .catch((err: unknown) => logger.warn({ err, file }, 'no CPU profile could be written'))
      .finally(() => {
        this.#isBusy = false;
      });
    return { file, ready_in_s: seconds };
  }

  /**
   * Writes a heap snapshot. The process is blocked meanwhile. The file contains everything in
   * memory, including secrets. Throws as `profile`.
   */
  async heapSnapshot(requestedBy: string): Promise<WrittenFile> {
    this.#begin();
    const file = await this.#newFile('heap.heapsnapshot').catch((error: unknown) =>
      this.#fail(error),
    );
    const { logger } = this.#options;
    logger.warn({ file, requestedBy }, 'a heap snapshot is written: the process pauses');
    try {
      writeHeapSnapshot(file);
    } finally {
      this.#isBusy = false;
    }
    return { file, ready_in_s: 0 };
  }

  #begin(): void {
    if (this.#isBusy) throw new Fault('conflict', 'a profile or a snapshot is being taken');
    this.#isBusy = true;
  }

  #fail(cause: unknown): never {
    this.#isBusy = false;
    throw new Fault('service_unavailable', 'no temporary file can be made', { cause });
  }

  /** Path in a new folder that only the user of the process can open. */
  async #newFile(name: string): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'identity-engine-profile-'));
    return join(folder, `${this.#options.origin.role}-${process.pid}-${name}`);
  }
}

async function profileOf(seconds: number, clock: Clock): Promise<string> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
    await sleep(clock, seconds * 1_000);
    const { profile } = await session.post('Profiler.stop');
    return JSON.stringify(profile);
  } finally {
    session.disconnect();
  }
}
