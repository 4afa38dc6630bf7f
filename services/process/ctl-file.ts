import { type Config, ConfigError } from '#config';
import type { FilePorts } from '#ctl/command';
import { systemClock } from '#platform/clock';
import { sqliteDataFileOf } from '#process/sqlite-stores';

/** How a terminal, and how an operator ends a program. */
const ENDINGS = ['SIGINT', 'SIGTERM'] as const;

/**
 * The file of the configuration, for `ctl`; until it is disposed, what ends the program lets a command
 * remove what it has not finished. Rejects with `ConfigError` where data is kept elsewhere.
 */
export async function openCtlFile(config: Config): Promise<FilePorts & Disposable> {
  const storage = config.SERVICE_STORAGE;
  if (storage !== 'sqlite') {
    throw new ConfigError(
      `SERVICE_STORAGE: backup, restore and vacuum are for sqlite, not for ${storage} (docs/backup.md)`,
    );
  }
  const ending = new AbortController();
  const end = () => ending.abort();
  for (const signal of ENDINGS) process.once(signal, end);
  return {
    clock: systemClock,
    file: await sqliteDataFileOf(config, { clock: systemClock }),
    interrupted: ending.signal,
    [Symbol.dispose]() {
      for (const signal of ENDINGS) process.off(signal, end);
    },
  };
}
