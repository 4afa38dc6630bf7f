/** Minimum secret length in bytes, so that a match is not chance. */
const BYTES_MIN = 8;

/**
 * All encodings that a secret may have in a text: plain, hexadecimal, and both base64 alphabets,
 * alone or inside a longer encoded text.
 */
export function formsOf(secret: string | Buffer): readonly Buffer[] {
  const bytes = Buffer.from(secret);
  if (bytes.length < BYTES_MIN)
    throw new Error(`the secret is too short for a reliable search: ${secret}`);
  const hex = bytes.toString('hex');
  const texts = [hex, hex.toUpperCase(), encodeURIComponent(bytes.toString('latin1'))];
  const encoded = [0, 1, 2].flatMap((before) => {
    // The first and last characters also depend on the surrounding bytes.
    const whole = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const inner = whole.replace(/=+$/, '').slice(before === 0 ? 0 : before + 1, -1);
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
  return [bytes, ...[...texts, ...encoded].map((text) => Buffer.from(text))];
}
