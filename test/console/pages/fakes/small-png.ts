import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Colours that an indexed picture may have. Source: PNG specification, 11.2.2. */
const COLOURS_MAX = 256;

/**
 * Converts a browser's picture (8-bit RGB, not interlaced) to 256 colours, which reduces the size
 * to a third.
 */
export function smallPng(png: Buffer): Buffer {
  const header = chunksOf(png, 'IHDR');
  const width = header.readUInt32BE(0);
  const [depth, kind] = [header[8], header[9]];
  if (depth !== 8 || kind !== 2 || header[12] !== 0)
    throw new Error('the picture is not 8-bit RGB without interlacing');
  const pixels = pixelsOf(inflateSync(chunksOf(png, 'IDAT')), width);
  const palette = new Palette(pixels);
  const rowLength = width + 1;
  const rows = Buffer.alloc((pixels.length / 3 / width) * rowLength);
  for (let at = 0; at < pixels.length / 3; at += 1) {
    rows[Math.floor(at / width) * rowLength + 1 + (at % width)] = palette.indexOf(
      colourAt(pixels, at),
    );
  }
  const colours = Buffer.from(palette.colours.flatMap((rgb) => [rgb >> 16, rgb >> 8, rgb]));
  const indexed = Buffer.from(header);
  indexed[9] = 3;
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', indexed),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Data of all chunks of one type, joined. */
function chunksOf(png: Buffer, kind: string): Buffer {
  const found: Buffer[] = [];
  for (let at = SIGNATURE.length; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === kind)
      found.push(png.subarray(at + 8, at + 8 + length));
  }
  return Buffer.concat(found);
}

function chunk(kind: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(kind, 'latin1'), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}

/** Decodes the filtered rows. Source: PNG specification, 9. */
function pixelsOf(filtered: Buffer, width: number): Buffer {
  const length = width * 3;
  const rows = filtered.length / (length + 1);
  // A row of zeros precedes the first row.
  const pixels = Buffer.alloc((rows + 1) * length);
  for (let row = 0; row < rows; row += 1) {
    const from = row * (length + 1);
    const filter = filtered[from] ?? 0;
    for (let at = 0; at < length; at += 1) {
      const to = (row + 1) * length + at;
      pixels[to] = (filtered[from + 1 + at] ?? 0) + guessOf(filter, pixels, { to, at, length });
    }
  }
  return pixels.subarray(length);
}

type Place = { readonly to: number; readonly at: number; readonly length: number };

function guessOf(filter: number, pixels: Buffer, { to, at, length }: Place): number {
  const left = at < 3 ? 0 : (pixels[to - 3] ?? 0);
  const above = pixels[to - length] ?? 0;
  const corner = at < 3 ? 0 : (pixels[to - length - 3] ?? 0);
  switch (filter) {
    case 1:
      return left;
    case 2:
      return above;
    case 3:
      return (left + above) >> 1;
    case 4:
      return paeth(left, above, corner);
    default:
      return 0;
  }
}

function paeth(left: number, above: number, corner: number): number {
  const estimate = left + above - corner;
  const distances = [left, above, corner].map((each) => Math.abs(estimate - each));
  const nearest = Math.min(...distances);
  return [left, above, corner][distances.indexOf(nearest)] ?? 0;
}

function colourAt(pixels: Buffer, at: number): number {
  return pixels.readUIntBE(at * 3, 3);
}

/** The most frequent colours of a picture. Other colours map to the nearest palette colour. */
class Palette {
  readonly colours: readonly number[];
  readonly #indices: Map<number, number>;

  constructor(pixels: Buffer) {
    const counts = new Map<number, number>();
    for (let at = 0; at < pixels.length / 3; at += 1) {
      const colour = colourAt(pixels, at);
      counts.set(colour, (counts.get(colour) ?? 0) + 1);
    }
    const sorted = [...counts].toSorted(([, a], [, b]) => b - a);
    this.colours = sorted.slice(0, COLOURS_MAX).map(([colour]) => colour);
    this.#indices = new Map(this.colours.map((colour, index) => [colour, index]));
  }

  indexOf(colour: number): number {
    const known = this.#indices.get(colour);
    if (known !== undefined) return known;
    const distances = this.colours.map((other) => distanceOf(colour, other));
    const index = distances.indexOf(Math.min(...distances));
    this.#indices.set(colour, index);
    return index;
  }
}

function distanceOf(one: number, other: number): number {
  const parts = [16, 8, 0].map((shift) => ((one >> shift) & 0xff) - ((other >> shift) & 0xff));
  return parts.reduce((sum, part) => sum + Math.abs(part), 0);
}
