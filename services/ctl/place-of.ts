import { UsageError } from '#ctl/command';
import type { Place } from '#ctl/copied-stores';

/** The names that a keyspace can have. */
const KEYSPACE = /^[a-z][a-z0-9_]{0,47}$/;

/** What is wrong with the text of a place; undefined: nothing. */
export function placeFaultOf(text: string): string | undefined {
  return found(text) === undefined ? 'must be sqlite:<file> or cassandra[:<keyspace>]' : undefined;
}

/** The place that a text names: `cassandra`, `cassandra:<keyspace>` or `sqlite:<file>`. */
export function placeOf(text = ''): Place {
  const place = found(text);
  if (place === undefined) throw new UsageError(`${text} ${placeFaultOf(text)}`);
  return place;
}

function found(text: string): Place | undefined {
  const [, kind = '', rest] = /^([a-z]+)(?::(.*))?$/s.exec(text) ?? [];
  if (kind === 'sqlite' && rest !== undefined && rest !== '') return { kind, file: rest };
  if (kind === 'cassandra' && (rest === undefined || KEYSPACE.test(rest))) {
    return { kind, keyspace: rest };
  }
  return undefined;
}
