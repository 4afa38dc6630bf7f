import { strict as assert } from 'node:assert';

/**
 * State vector of a model as a string with one character per byte: the different numbers, 8 bytes
 * each, then one byte per number of the vector with its place among them, then their count. About
 * half of the numbers of a vector repeat: many are 0, and the rollback point often equals the
 * present state. A vector of 101 numbers takes 180 to 650 bytes in this form, but 1,008 bytes as an
 * array with its buffer.
 *
 * The form is for memory only. Stores and wires have their own forms.
 */
export type PackedModel = string & { readonly [isPacked]: true };

declare const isPacked: unique symbol;

/** Size of a number, in bytes. */
const NUMBER_BYTES = 8;

/** Maximum length of a vector: places and counts take one byte. */
const LENGTH_MAX = 255;

/** The packed vector: different numbers, places, and a count. */
const packed = Buffer.from(new ArrayBuffer(LENGTH_MAX * (NUMBER_BYTES + 1) + 1));

/** The different numbers in `packed`. */
const numbers = new Float64Array(packed.buffer, 0, LENGTH_MAX);

/** Halves of the different numbers, which tell apart 0 and -0. */
const halves = new Int32Array(packed.buffer, 0, 2 * LENGTH_MAX);

/** Buffer of `packedModel` for the places of its vector. */
const places = new Uint8Array(LENGTH_MAX);

/** Packs a vector without rounding, bit by bit. */
export function packedModel(model: Float64Array): PackedModel {
  const { length } = model;
  assert(length <= LENGTH_MAX, 'a model has at most 255 numbers');
  let count = 0;
  for (let at = 0; at < length; at += 1) {
    // The number itself ends the search, unless an earlier number is the same.
    numbers[count] = model[at] as number;
    const [low, high] = [halves[2 * count], halves[2 * count + 1]];
    let place = 0;
    while (halves[2 * place] !== low || halves[2 * place + 1] !== high) place += 1;
    places[at] = place;
    if (place === count) count += 1;
  }
  const end = count * NUMBER_BYTES;
  packed.set(places.subarray(0, length), end);
  packed[end + length] = count;
  return packed.toString('latin1', 0, end + length + 1) as PackedModel;
}

/** The vector as a new array if it is packed, otherwise the array itself. */
export function unpackedModel(model: Float64Array | PackedModel): Float64Array {
  if (typeof model !== 'string') return model;
  const last = packed.write(model, 'latin1') - 1;
  const end = (packed[last] as number) * NUMBER_BYTES;
  const unpacked = new Float64Array(last - end);
  for (let at = 0; at < unpacked.length; at += 1) {
    unpacked[at] = numbers[packed[end + at] as number] as number;
  }
  return unpacked;
}
