import { Fault } from '#fault/fault';
import { explainedResult, type FileErrorType, failureLine } from '#storage/sqlite/result-code';
import type { ThreadFailure } from '#storage/sqlite/thread-messages';
import { UnusableFile } from '#storage/sqlite/unusable-file';

const SAID: Record<Exclude<FileErrorType, 'corrupt' | 'refused'>, string> = {
  full: 'the disk is full',
  busy: 'another program writes to the file',
  io: 'the file cannot be written or read',
};

/** Why a request failed. */
export function fileErrorType({ code }: ThreadFailure): FileErrorType {
  return explainedResult(code).type;
}

/**
 * The fault that a failure stands for: `internal` when the file is damaged or SQLite refuses the
 * statement, else `service_unavailable`.
 */
export function faultOfFailure(file: string, failure: ThreadFailure): Fault {
  const { isOutcomeUnknown } = failure;
  const line = failureLine(file, failure);
  const type = fileErrorType(failure);
  if (type === 'corrupt' || type === 'refused') {
    return new Fault('internal', 'internal error', { cause: new UnusableFile(line) });
  }
  return new Fault('service_unavailable', SAID[type], {
    retryAfterS: 1,
    isOutcomeUnknown,
    cause: new Error(line),
  });
}
