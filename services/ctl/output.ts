import { access, link, open, unlink } from 'node:fs/promises';
import { CtlError } from '#ctl/command';

/** Where a command writes much. */
type Output = AsyncDisposable & {
  readonly write: (text: string) => Promise<void>;
  /** What has been written is all: a file gets its name, once it is on the disk. */
  readonly keep: () => Promise<void>;
};

/** Readable by its owner alone. */
const FILE_MODE = 0o600;

/**
 * A new file at `path`, under another name until it is complete, or `write` where there is no path.
 * Rejects with a `CtlError` where a file is in the way.
 */
export async function outputTo(
  path: string | undefined,
  write: (text: string) => Promise<void>,
): Promise<Output> {
  if (path === undefined) {
    return { write, keep: async () => undefined, [Symbol.asyncDispose]: async () => undefined };
  }
  await assertFree(path);
  const unfinished = `${path}.part`;
  const file = await open(unfinished, 'wx', FILE_MODE).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw new CtlError(`${unfinished}: ${error.message}`);
    const text = 'another command is writing it, or one was cut off: then remove it';
    throw new CtlError(`${unfinished} is there already: ${text}`);
  });
  return {
    write: async (text) => void (await file.writeFile(text)),
    async keep() {
      await file.sync();
      // Fails where a file has come in the way, which a rename would not.
      await link(unfinished, path);
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
