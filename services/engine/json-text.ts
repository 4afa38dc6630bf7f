/*
 * JSON text put together in one reused buffer of bytes. Joining dozens of small strings would build
 * a tree that is flattened before it can be sent, which costs more than the model.
 * Positions are passed on rather than kept, so that nothing is left over between two texts.
 */

/** Longest text in bytes: three times the longest object of a report. Writing past it throws. */
const BYTES_MAX = 16_384;

const bytes = Buffer.alloc(BYTES_MAX);
const view = new DataView(bytes.buffer, bytes.byteOffset, BYTES_MAX);

/** 0..255 as two ASCII hex digits in a word, lowest byte first. */
const HEX_PAIRS = Uint32Array.from({ length: 256 }, (_, n) =>
  Buffer.from(n.toString(16).padStart(2, '0'), 'latin1').readUInt16LE(),
);

/** A piece of ASCII text, ready to be copied eight bytes at a time. */
export type Fragment = {
  readonly length: number;
  /**
   * Its bytes, as little-endian doubles that are only ever copied (ASCII never spells a NaN). What
   * hangs over in the last one is overwritten by what follows.
   */
  readonly words: Float64Array;
};

/** Prepares the ASCII `text` for `put`. */
export function fragment(text: string): Fragment {
  const padded = Buffer.alloc(Math.ceil(text.length / 8) * 8);
  padded.write(text, 'latin1');
  const words = Float64Array.from({ length: padded.length / 8 }, (_, word) =>
    padded.readDoubleLE(8 * word),
  );
  return { length: text.length, words };
}

/** Writes `piece` at `position` and returns the position behind it. */
export function put(piece: Fragment, position: number): number {
  const { words } = piece;
  for (let word = 0; word < words.length; word++) {
    view.setFloat64(position + 8 * word, words[word] as number, true);
  }
  return position + piece.length;
}

/** Writes the low four bytes of `word`; the caller says how many of them count. */
export function putWord(word: number, position: number): void {
  view.setUint32(position, word, true);
}

/** Writes a 32-bit number as eight hex digits and returns the position behind them. */
export function putHex(value: number, position: number): number {
  putWord(hexPair(value >>> 24) | (hexPair((value >>> 16) & 0xff) << 16), position);
  putWord(hexPair((value >>> 8) & 0xff) | (hexPair(value & 0xff) << 16), position + 4);
  return position + 8;
}

function hexPair(byte: number): number {
  return HEX_PAIRS[byte] as number;
}

/** Writes the ASCII `text`, which was not prepared, and returns the position behind it. */
export function putText(text: string, position: number): number {
  for (let index = 0; index < text.length; index++) {
    view.setUint8(position + index, text.charCodeAt(index));
  }
  return position + text.length;
}

/** What was written before `position`, as a flat string. */
export function textUpTo(position: number): string {
  return bytes.toString('latin1', 0, position);
}
