/** A change of a file's content or length. */
export type Change =
  | { readonly kind: 'write'; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly length: number };

/** Content of a file. Gaps read as zeros. */
export class FileBytes {
  #room = Buffer.alloc(4_096);
  length = 0;

  apply(change: Change): void {
    const before = this.length;
    this.length = lengthAfter(before, change);
    this.#reserve(this.length);
    if (change.kind === 'write') change.bytes.copy(this.#room, change.at);
    else if (change.length < before) this.#room.fill(0, change.length, before);
  }

  /** A copy of the content, padded with zeros to at least `length` bytes. */
  copy(length = this.length): Buffer {
    const copied = Buffer.alloc(Math.max(length, this.length));
    this.#room.copy(copied, 0, 0, this.length);
    return copied;
  }

  #reserve(length: number): void {
    if (length <= this.#room.length) return;
    const larger = Buffer.alloc(Math.max(length, 2 * this.#room.length));
    this.#room.copy(larger);
    this.#room = larger;
  }
}

/** Length of a file after a change. */
export function lengthAfter(length: number, change: Change): number {
  return change.kind === 'truncate'
    ? change.length
    : Math.max(length, change.at + change.bytes.length);
}
