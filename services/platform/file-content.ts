import { lstatSync, readFileSync, type Stats, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';

/** The bytes of a file, or in a few words why there are none. */
export type FileContent = Buffer | string;

/** What is said of a file that is not there. */
export const MISSING = 'cannot be read (ENOENT)';

const LEADS_NOWHERE = 'is a link that leads nowhere (ENOENT)';

/** Bytes of a file that is read at all: a list of all public authorities has 220 KiB. */
const FILE_BYTES_MAX = 1_024 * 1_024;

/** What a file holds, through links. Never throws. */
export function readContent(path: string): FileContent {
  try {
    return refusalOf(statSync(path)) ?? readFileSync(path);
  } catch (error) {
    return failureOf(path, error);
  }
}

/** The same without keeping the process waiting: of a file system that hangs, for example. */
export async function readContentAsync(path: string): Promise<FileContent> {
  try {
    return refusalOf(await stat(path)) ?? (await readFile(path));
  } catch (error) {
    return failureOf(path, error);
  }
}

function refusalOf(stats: Stats): string | undefined {
  // A device or a pipe could be read for ever.
  if (!stats.isFile()) return 'is no file';
  return stats.size > FILE_BYTES_MAX ? `has more than ${FILE_BYTES_MAX} bytes` : undefined;
}

function failureOf(path: string, error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOENT') return `cannot be read (${code})`;
  return lstatSync(path, { throwIfNoEntry: false }) === undefined ? MISSING : LEADS_NOWHERE;
}
