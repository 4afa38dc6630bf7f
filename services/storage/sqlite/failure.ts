import { Fault } from '#fault/fault';
import type { ThreadFailure } from '#storage/sqlite/thread-messages';

/* https://www.sqlite.org/rescode.html; the low byte of an extended code is its primary one. */
const PRIMARY = 0xff;

/** Why SQLite failed, as the metric's `error_type` says it. */
export type FileErrorType = 'full' | 'busy' | 'io' | 'corrupt' | 'refused';

const ERROR_TYPES: ReadonlyMap<number, FileErrorType> = new Map([
  [5, 'busy'],
  [6, 'busy'],
  [13, 'full'],
  // no right to it, out of memory, read-only, input and output, cannot be opened
  [3, 'io'],
  [7, 'io'],
  [8, 'io'],
  [10, 'io'],
  [14, 'io'],
  [11, 'corrupt'],
  [26, 'corrupt'],
]);

const SAID: Record<Exclude<FileErrorType, 'corrupt' | 'refused'>, string> = {
  full: 'the disk is full',
  busy: 'another program writes to the file',
  io: 'the file cannot be written or read',
};

/** Why a request failed. */
export function fileErrorType({ code }: ThreadFailure): FileErrorType {
  return (code === undefined ? undefined : ERROR_TYPES.get(code & PRIMARY)) ?? 'refused';
}

/**
 * The fault that a failure stands for: `internal` when the file is damaged or SQLite refuses the
 * statement, else `service_unavailable`.
 */
export function faultOfFailure(failure: ThreadFailure): Fault {
  const { isOutcomeUnknown } = failure;
  const cause = new Error(failure.message);
  const type = fileErrorType(failure);
  if (type === 'corrupt' || type === 'refused')
    return new Fault('internal', 'internal error', { cause });
  return new Fault('service_unavailable', SAID[type], {
    retryAfterS: 1,
    isOutcomeUnknown,
    cause,
  });
}
