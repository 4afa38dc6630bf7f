/**
 * A server is not available on this machine. The one-line message names the missing part and how to
 * install the part.
 */
export class MissingServer extends Error {
  override readonly name = 'MissingServer';
}
