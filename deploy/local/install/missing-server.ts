/**
 * A server is not available on this machine. The one-line message has the missing part and how to
 * install it.
 */
export class MissingServer extends Error {
  override readonly name = 'MissingServer';
}
