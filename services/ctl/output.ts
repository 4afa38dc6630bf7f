import { access, link, open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CtlError } from '#ctl/command';

/** Where a command writes much. */
type Output = Omit<UnfinishedFile, 'path'>;

/**
 * A new file at `path`, under another name until it is complete, or `write` where there is no path.
 * Rejects with a `CtlError` where a file is in the way.
 */
export async function outputTo(
  path: string | undefined,
  write: (text: string) => Promise<void>,
): Promise<Output> {
  if (path !== undefined) return await unfinishedFile(path);
  return { write, keep: async () => undefined, [Symbol.asyncDispose]: async () => undefined };
}

/** A new file that is written under another name until it is complete. Disposing it removes that name. */
type UnfinishedFile = AsyncDisposable & {
  /** Where it is written. */
  readonly path: string;
  /** Writes at its end. */
  readonly write: (text: string) => Promise<void>;
  /** What has been written is all: once it is on the disk, it gets its name. */
  readonly keep: () => Promise<void>;
};

/** Readable by its owner alone. */
const FILE_MODE = 0o600;

/** An empty one that becomes `path`. Rejects with a `CtlError` where a file is in the way. */
export async function unfinishedFile(path: string): Promise<UnfinishedFile> {
  await assertFree(path);
  const unfinished = `${path}.part`;
  const file = await open(unfinished, 'wx', FILE_MODE).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw new CtlError(`${unfinished}: ${error.message}`);
    const text = 'another command is writing it, or one was cut off: then remove it';
    throw new CtlError(`${unfinished} is there already: ${text}`);
  });
  return {
    path: unfinished,
    write: async (text) => void (await file.writeFile(text)),
    async keep() {
      await file.sync();
      // Fails where a file has come in the way, which a rename would not.
      await link(unfinished, path);
      await using folder = await open(dirname(path), 'r');
      await folder.sync();
    },
    async [Symbol.asyncDispose]() {
      await file.close();
      await unlink(unfinished);
    },
  };
}

async function assertFree(path: string): Promise<void> {
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  if (isThere) throw new CtlError(`${path} is there already, and is not written over`);
}
