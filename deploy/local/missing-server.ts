/** A server cannot be had on this machine. The message is one line: what is missing, how to get it. */
export class MissingServer extends Error {
  override readonly name = 'MissingServer';
}
