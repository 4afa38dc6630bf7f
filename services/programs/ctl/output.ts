import { access, link, open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CtlError } from '#ctl/command';

/** Destination for large output: a file or standard output. */
type Output = Omit<UnfinishedFile, 'path'>;

/**
 * Opens a new file at `path`, under a temporary name until `keep`. Without a path, output goes to
 * `write`. Rejects with a `CtlError` if the file exists.
 */
export async function outputTo(
  path: string | undefined,
  write: (text: string) => Promise<void>,
): Promise<Output> {
  if (path !== undefined) return await unfinishedFile(path);
  return { write, keep: async () => undefined, [Symbol.asyncDispose]: async () => undefined };
}

/** A new file that has a temporary name until `keep`. Disposal removes the temporary name. */
type UnfinishedFile = AsyncDisposable & {
  /** Temporary path. */
  readonly path: string;
  /** Appends text. */
  readonly write: (text: string) => Promise<void>;
  /** Syncs the file to disk and gives the file its final name. */
  readonly keep: () => Promise<void>;
};

/** File mode that lets only the owner read, because exports hold account data. */
const FILE_MODE = 0o600;

/**
 * Creates an empty temporary file that becomes `path`. Rejects with a `CtlError` if either file
 * exists.
 */
export async function unfinishedFile(path: string): Promise<UnfinishedFile> {
  await assertFree(path);
  const unfinished = `${path}.part`;
  const file = await open(unfinished, 'wx', FILE_MODE).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw new CtlError(`${unfinished}: ${error.message}`);
    const text = 'another command writes this file; if no command runs, remove the file';
    throw new CtlError(`${unfinished} exists already: ${text}`);
  });
  return {
    path: unfinished,
    write: async (text) => void (await file.writeFile(text)),
    async keep() {
      await file.sync();
      // `link` fails if the file exists meanwhile; a rename would replace the file.
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
  if (isThere) throw new CtlError(`${path} exists already: name a new file`);
}
