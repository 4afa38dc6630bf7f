import type { Metrics } from '#telemetry/metrics';

/** Statements for one schema version. */
export type SchemaVersion = {
  readonly version: number;
  readonly statements: readonly string[];
  /**
   * Oldest program that can use the tables, given as the newest version that this program knows.
   * Absent: only programs that know `version` can use the tables.
   */
  readonly programsFrom?: number;
};

const VERSION_LINE = /^-- version (\d+)(?:, for programs from (\d+))?$/;

/**
 * Parses the schema versions in a text of CQL or SQL. A line `-- version N` begins a version. With
 * the ending `, for programs from K`, older programs that know the versions up to K can also use the
 * tables. Versions count up from 1, and every statement ends with a semicolon at the end of a line.
 * Throws an Error for other texts.
 */
export function versionsIn(text: string): SchemaVersion[] {
  const versions: (SchemaVersion & { readonly statements: string[] })[] = [];
  let lines: string[] = [];
  for (const line of text.split('\n')) {
    const code = line.replace(/--.*$/, '').trimEnd();
    const begun = versionOf(line);
    if (begun !== undefined) {
      const { version } = begun;
      if (version !== versions.length + 1) throw new Error(`version ${version} is out of sequence`);
      versions.push({ ...begun, statements: [] });
    }
    if (code === '') continue;
    lines.push(code.replace(/;$/, ''));
    if (!code.endsWith(';')) continue;
    const open = versions.at(-1);
    if (open === undefined) throw new Error('a statement precedes the first version');
    open.statements.push(lines.join('\n'));
    lines = [];
  }
  if (lines.length > 0) throw new Error('the last statement does not end with a semicolon');
  return versions;
}

/** Version that a line begins; undefined: none. */
function versionOf(line: string): Omit<SchemaVersion, 'statements'> | undefined {
  const [, number, from] = VERSION_LINE.exec(line) ?? [];
  if (number === undefined) return undefined;
  const version = Number(number);
  return from === undefined ? { version } : { version, programsFrom: Number(from) };
}

/**
 * Called after every statement with its operation, its duration in seconds, and the type of its
 * error.
 */
type ObserveDuration = (operation: string, seconds: number, errorType: string | undefined) => void;

/**
 * Returns an observer of statement durations. Labels are bound once per combination, because
 * binding costs more than the observation.
 */
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
