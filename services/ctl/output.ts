import { type UnfinishedFile, unfinishedFile } from '#ctl/unfinished-file';

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
