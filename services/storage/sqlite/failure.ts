import { Fault } from '#fault/fault';
import { RESULT } from '#storage/sqlite/result-code';
import type { ThreadFailure } from '#storage/sqlite/thread-messages';

/** Why SQLite failed, as the metric's `error_type` says it. */
export type FileErrorType = 'full' | 'busy' | 'io' | 'corrupt' | 'refused';

const ERROR_TYPES: ReadonlyMap<number, FileErrorType> = new Map([
  [RESULT.busy, 'busy'],
  [RESULT.locked, 'busy'],
  [RESULT.full, 'full'],
  [RESULT.perm, 'io'],
  [RESULT.noMemory, 'io'],
  [RESULT.readOnly, 'io'],
  [RESULT.ioError, 'io'],
  [RESULT.cannotOpen, 'io'],
  [RESULT.corrupt, 'corrupt'],
  [RESULT.notADatabase, 'corrupt'],
]);

const SAID: Record<Exclude<FileErrorType, 'corrupt' | 'refused'>, string> = {
  full: 'the disk is full',
  busy: 'another program writes to the file',
  io: 'the file cannot be written or read',
};

/** Why a request failed. */
export function fileErrorType({ code }: ThreadFailure): FileErrorType {
  return (code === undefined ? undefined : ERROR_TYPES.get(code)) ?? 'refused';
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
