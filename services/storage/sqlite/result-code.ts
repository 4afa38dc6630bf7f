/* https://www.sqlite.org/rescode.html; the low byte of an extended code is its primary one. */
const PRIMARY = 0xff;

/** The primary result codes of SQLite that this program tells apart. */
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

/** The primary result code of an error; undefined: it is not SQLite's. */
export function resultCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return Number(error.errcode) & PRIMARY;
}
