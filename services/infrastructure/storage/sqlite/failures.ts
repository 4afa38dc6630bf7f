/*
 * The low byte of an extended code is its primary code. Source: https://www.sqlite.org/rescode.html
 */
const PRIMARY = 0xff;

/** Primary result codes of SQLite that this program distinguishes. */
export const RESULT = {
  error: 1,
  perm: 3,
  busy: 5,
  locked: 6,
  noMemory: 7,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  tooBig: 18,
  constraint: 19,
  mismatch: 20,
  range: 25,
  notADatabase: 26,
} as const;

/** Extended code of an open file that is no longer at its path (SQLITE_READONLY_DBMOVED). */
export const MOVED_RESULT = 1_032;

/** Type of an SQLite failure: the label `error_type` of the metric. */
export type FileErrorType = 'full' | 'busy' | 'io' | 'corrupt' | 'refused';

/** Result code: its name, its error type, and the next step for an operator. */
type ResultCode = readonly [name: string, type: FileErrorType, step: string];

const BUG = 'report a bug of this program with this line';
const LOOK = 'see dmesg, mount and df for the disk of the file';
const RESTORE = 'stop the process and restore the newest backup (ctl restore)';
const OTHERS = 'end other programs that have the file open';

/** All primary result codes that report a failure. */
const CODES: ReadonlyMap<number, ResultCode> = new Map<number, ResultCode>([
  [1, ['SQLITE_ERROR', 'refused', BUG]],
  [2, ['SQLITE_INTERNAL', 'refused', BUG]],
  [3, ['SQLITE_PERM', 'io', 'give the file and its folder to the user of the service']],
  [4, ['SQLITE_ABORT', 'refused', BUG]],
  [5, ['SQLITE_BUSY', 'busy', OTHERS]],
  [6, ['SQLITE_LOCKED', 'busy', OTHERS]],
  [7, ['SQLITE_NOMEM', 'io', 'give the process more memory']],
  [8, ['SQLITE_READONLY', 'io', 'make the file and its folder writable, at their place']],
  [9, ['SQLITE_INTERRUPT', 'refused', BUG]],
  [10, ['SQLITE_IOERR', 'io', LOOK]],
  [11, ['SQLITE_CORRUPT', 'corrupt', RESTORE]],
  [12, ['SQLITE_NOTFOUND', 'refused', BUG]],
  [13, ['SQLITE_FULL', 'full', 'make room on the disk of the file']],
  [14, ['SQLITE_CANTOPEN', 'io', 'give the file and its folder to the user of the service']],
  [15, ['SQLITE_PROTOCOL', 'io', OTHERS]],
  [16, ['SQLITE_EMPTY', 'refused', BUG]],
  [17, ['SQLITE_SCHEMA', 'refused', OTHERS]],
  [18, ['SQLITE_TOOBIG', 'refused', BUG]],
  [19, ['SQLITE_CONSTRAINT', 'refused', BUG]],
  [20, ['SQLITE_MISMATCH', 'refused', BUG]],
  [21, ['SQLITE_MISUSE', 'refused', BUG]],
  [22, ['SQLITE_NOLFS', 'io', 'move the file to a file system that takes large files']],
  [23, ['SQLITE_AUTH', 'refused', BUG]],
  [24, ['SQLITE_FORMAT', 'corrupt', RESTORE]],
  [25, ['SQLITE_RANGE', 'refused', BUG]],
  [26, ['SQLITE_NOTADB', 'corrupt', RESTORE]],
  [27, ['SQLITE_NOTICE', 'refused', BUG]],
  [28, ['SQLITE_WARNING', 'refused', BUG]],
]);

/** Names of all result codes, for the runbook. */
export const RESULT_NAMES: readonly string[] = [...CODES.values()].map(([name]) => name);

/** Name, kind and next step of a failure. `code` is undefined if the error is not from SQLite. */
export function explainedResult(code: number | undefined) {
  const [name, type, step] = CODES.get(code ?? 0) ?? ['not of SQLite', 'refused', BUG];
  return { name, type, step } as const;
}

/** Line for operators: name of the result code, SQLite's message, and the next step. */
export function failureLine(
  file: string,
  { code, message }: { readonly code: number | undefined; readonly message: string },
) {
  const { name, step } = explainedResult(code);
  return `${file}: ${name}: ${message.replaceAll('\n', ' ')}; ${step} (docs/runbook.md#result-codes-of-sqlite)`;
}

/** Primary result code of an error; undefined if the error is not from SQLite. */
export function resultCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return Number(error.errcode) & PRIMARY;
}

/** Error for a file that cannot be served. Its message is one line with the reason. */
export class UnusableFile extends Error {
  override readonly name = 'UnusableFile';
}

/**
 * Converts an error of the system or of SQLite into an `UnusableFile` with a one-line message.
 * Other errors are bugs and stay unchanged.
 */
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
