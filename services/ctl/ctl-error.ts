/** Why a command failed, in one line for its user. */
export class CtlError extends Error {
  override readonly name = 'CtlError';
}
