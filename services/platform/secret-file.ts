import { type FileContent, readContent } from '#platform/file-content';

/** Bytes of a secret file: far more than any secret has. */
const SECRET_BYTES_MAX = 4_096;

/** What a value of an environment variable could not have either. */
const CONTROL_CHARACTER = /\p{Cc}/u;

/**
 * The secrets whose files an environment names, in a variable with `_FILE` behind the secret's. Keys of
 * `linesMaxOf` are the secrets there are. Lines become a list with commas. Throws an error of one line.
 */
export function secretsInFiles(
  environment: Readonly<Record<string, string | undefined>>,
  linesMaxOf: Readonly<Record<string, number>>,
): Record<string, string> {
  const secrets: Record<string, string> = {};
  for (const [secret, linesMax] of Object.entries(linesMaxOf)) {
    const variable = `${secret}_FILE`;
    const path = environment[variable] ?? '';
    if (path === '') continue;
    if (environment[secret] !== undefined) {
      throw new Error(`${variable}: ${secret} is set too, and one of them must go`);
    }
    try {
      secrets[secret] = secretText(path, readContent(path), linesMax);
    } catch (error) {
      throw new Error(`${variable}: ${(error as Error).message}`);
    }
  }
  return secrets;
}

/**
 * The text in a secret file, without the line break at its end, that editors and `echo` leave, and
 * with commas for those between lines. Throws an error of one line, which never quotes the file, for
 * what is no secret.
 */
export function secretText(path: string, content: FileContent, linesMax: number): string {
  if (typeof content === 'string') throw new Error(`${path} ${content}`);
  if (content.length > SECRET_BYTES_MAX) {
    throw new Error(`${path} has more than ${SECRET_BYTES_MAX} bytes`);
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(content).replace(/\r?\n$/, '');
  } catch {
    throw new Error(`${path} is no UTF-8 text`);
  }
  if (text === '') throw new Error(`${path} is empty`);
  const lines = text.split(/\r?\n/);
  if (linesMax > 1 && lines.length > linesMax) {
    throw new Error(`${path} must hold at most ${linesMax} lines of text`);
  }
  if (lines.length > linesMax || lines.some((line) => CONTROL_CHARACTER.test(line))) {
    throw new Error(`${path} must hold one line of text`);
  }
  return lines.join(',');
}
