import { readFileSync } from 'node:fs';
import { type SchemaVersion, versionsIn } from '#storage/schema-versions';

/** The versions that this program knows, oldest first: the text of schema.cql. */
export function knownVersions(): SchemaVersion[] {
  return versionsIn(readFileSync(new URL('schema.cql', import.meta.url), 'utf8'));
}
