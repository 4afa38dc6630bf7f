import type { Logger } from '#telemetry/logger';

/** Fields in every line from a test logger. */
export const TEST_ORIGIN = { role: 'test', node: 'test-1', release: '0.0.0' } as const;

/**
 * A logger that passes each line to `note` as text: message, then defined fields as `name=value`.
 */
export function noteLogger(note: (line: string, level: string) => void): Logger {
  const at =
    (level: string) =>
    (fields: object | string, text = ''): void =>
      note(typeof fields === 'string' ? fields : [text, ...pairsOf(fields)].join(' '), level);
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    fatal: at('fatal'),
    isLevelEnabled: () => true,
  };
}

function pairsOf(fields: object): string[] {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${value}`);
}

/** A logger that writes nothing. */
export const SILENT: Logger = noteLogger(() => undefined);
