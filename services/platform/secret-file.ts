import { readFileSync, statSync } from 'node:fs';

/** Bytes of a secret file: far more than any secret has. */
const FILE_BYTES_MAX = 4_096;

/** What a value of an environment variable could not have either, or would be a second line. */
const CONTROL_CHARACTER = /\p{Cc}/u;

/**
 * The one line of text in a file, without the line break at its end, that editors and `echo` leave.
 * Throws an error of one line, which never quotes the file, for what is no secret.
 */
export function readSecretFile(path: string): string {
  const bytes = bytesOf(path);
  if (bytes.length > FILE_BYTES_MAX)
    throw new Error(`${path} has more than ${FILE_BYTES_MAX} bytes`);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r?\n$/, '');
  } catch {
    throw new Error(`${path} is no UTF-8 text`);
  }
  if (text === '') throw new Error(`${path} is empty`);
  if (CONTROL_CHARACTER.test(text)) throw new Error(`${path} must hold one line of text`);
  return text;
}

function bytesOf(path: string): Buffer {
  try {
    if (statSync(path).isFile()) return readFileSync(path);
  } catch (error) {
    throw new Error(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  // A device or a pipe could be read for ever.
  throw new Error(`${path} is no file`);
}
