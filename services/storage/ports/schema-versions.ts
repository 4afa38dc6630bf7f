import type { Metrics } from '#platform/metrics';

/** What one version of the schema adds. */
export type SchemaVersion = {
  readonly version: number;
  readonly statements: readonly string[];
  /** A program that knows the versions up to this one bears it; absent: only one that knows it. */
  readonly programsFrom?: number;
};

const VERSION_LINE = /^-- version (\d+)(?:, for programs from (\d+))?$/;

/**
 * The versions that a text of CQL or SQL defines: a line `-- version N` begins one, with
 * `, for programs from K` behind it where programs bear it that know less; numbers count up from 1,
 * and every statement ends with a semicolon at the end of a line. Throws an Error for other text.
 */
export function versionsIn(text: string): SchemaVersion[] {
  const versions: (SchemaVersion & { readonly statements: string[] })[] = [];
  let lines: string[] = [];
  for (const line of text.split('\n')) {
    const code = line.replace(/--.*$/, '').trimEnd();
    const begun = versionOf(line);
    if (begun !== undefined) {
      const { version } = begun;
      if (version !== versions.length + 1) throw new Error(`version ${version} is out of turn`);
      versions.push({ ...begun, statements: [] });
    }
    if (code === '') continue;
    lines.push(code.replace(/;$/, ''));
    if (!code.endsWith(';')) continue;
    const open = versions.at(-1);
    if (open === undefined) throw new Error('a statement stands before the first version');
    open.statements.push(lines.join('\n'));
    lines = [];
  }
  if (lines.length > 0) throw new Error('the last statement has no end');
  return versions;
}

/** The version that a line begins; undefined: it begins none. */
function versionOf(line: string): Omit<SchemaVersion, 'statements'> | undefined {
  const [, number, from] = VERSION_LINE.exec(line) ?? [];
  if (number === undefined) return undefined;
  const version = Number(number);
  return from === undefined ? { version } : { version, programsFrom: Number(from) };
}

/** Notified of every statement: its operation, its seconds, and why it failed if it did. */
type ObserveDuration = (operation: string, seconds: number, errorType: string | undefined) => void;

/** Times every statement; labels are bound once each, because that costs more than the rest. */
export function statementDurations(
  metrics: Metrics,
  system: 'cassandra' | 'sqlite',
): ObserveDuration {
  const durations = metrics.histogram('db_client_operation_duration_seconds');
  const bound = new Map<string, { observe(seconds: number): void }>();
  return (operation, seconds, errorType = '') => {
    const key = `${operation} ${errorType}`;
    let child = bound.get(key);
    if (child === undefined) {
      child = durations.labels({
        db_system_name: system,
        db_operation_name: operation,
        error_type: errorType,
      });
      bound.set(key, child);
    }
    child.observe(seconds);
  };
}
