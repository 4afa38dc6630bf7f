/** Bytes of a secret below which a find would mean nothing. */
const BYTES_MIN = 8;

/**
 * How a secret may stand in a text: as it is, in hexadecimal, and in either alphabet of base64, alone
 * or inside of something longer that was encoded as a whole.
 */
export function formsOf(secret: string | Buffer): readonly Buffer[] {
  const bytes = Buffer.from(secret);
  if (bytes.length < BYTES_MIN) throw new Error(`too short to be looked for: ${secret}`);
  const hex = bytes.toString('hex');
  const texts = [hex, hex.toUpperCase(), encodeURIComponent(bytes.toString('latin1'))];
  const encoded = [0, 1, 2].flatMap((before) => {
    // The first and the last characters also depend on what stands around it.
    const whole = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const inner = whole.replace(/=+$/, '').slice(before === 0 ? 0 : before + 1, -1);
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
  return [bytes, ...[...texts, ...encoded].map((text) => Buffer.from(text))];
}
