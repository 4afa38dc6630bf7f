/** A file that cannot be served: its message is one line that says why. */
export class UnusableFile extends Error {
  override readonly name = 'UnusableFile';
}
