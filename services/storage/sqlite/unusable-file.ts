import { failureLine, resultCodeOf } from '#storage/sqlite/result-code';

/** A file that cannot be served: its message is one line that says why. */
export class UnusableFile extends Error {
  override readonly name = 'UnusableFile';
}

/** An error about a file: what the system or SQLite refuses with becomes one line, a bug stays what it is. */
export function unusable(file: string, error: unknown): unknown {
  if (error instanceof UnusableFile || !(error instanceof Error) || !('code' in error))
    return error;
  const code = resultCodeOf(error);
  if (code !== undefined) {
    return new UnusableFile(failureLine(file, { code, message: error.message }), { cause: error });
  }
  const text = error.message.replaceAll('\n', ' ');
  return new UnusableFile(`${file} cannot be used: ${text}`, { cause: error });
}
