import { existsSync } from 'node:fs';
import type { Clock } from '#platform/clock';
import { takeFile } from '#storage/sqlite/file-owner';
import { UnusableFile, unusable } from '#storage/sqlite/unusable-file';

/**
 * Keeps a file from being served until it is disposed. Throws `UnusableFile`, which names the process
 * that serves it and says what to do.
 */
export function holdFile(file: string, clock: Pick<Clock, 'wallMs'>): Disposable {
  try {
    return takeFile(file, clock);
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw unusable(file, error);
    throw new UnusableFile(`${error.message}; stop that one first`, { cause: error });
  }
}

/** The same for a file that must be there. */
export function holdFileThere(file: string, clock: Pick<Clock, 'wallMs'>): Disposable {
  if (existsSync(file)) return holdFile(file, clock);
  throw new UnusableFile(`${file} is not there`);
}
