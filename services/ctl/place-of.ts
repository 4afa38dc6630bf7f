import { CtlError } from '#ctl/command';
import type { Place } from '#ctl/copied-stores';

/** The names that a keyspace can have. */
const KEYSPACE = /^[a-z][a-z0-9_]{0,47}$/;

/** The place that a text names: `cassandra`, `cassandra:<keyspace>` or `sqlite:<file>`. */
export function placeOf(option: string, text: string | undefined): Place {
  const [, kind = '', rest] = /^([a-z]+)(?::(.*))?$/s.exec(text ?? '') ?? [];
  if (kind === 'sqlite' && rest !== undefined && rest !== '') return { kind, file: rest };
  if (kind === 'cassandra' && (rest === undefined || KEYSPACE.test(rest))) {
    return { kind, keyspace: rest };
  }
  const said = text === undefined ? '' : `, not ${text}`;
  throw new CtlError(`--${option} takes sqlite:<file> or cassandra[:<keyspace>]${said}`);
}
