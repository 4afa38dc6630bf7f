import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { FixtureKey } from '#test/release/fixture-kinds';

/** Where what releases wrote stays, a folder for each. */
export const FIXTURES = 'test/fixtures';

/** What a release wrote, and what it read of that itself. */
type Fixture = {
  readonly key: FixtureKey;
  /** In base64. */
  readonly bytes: string;
  readonly read: unknown;
};

/** The releases that have left fixtures. */
export function fixtureVersions(): string[] {
  const entries = readdirSync(FIXTURES, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/** The fixtures of a release by kind. */
export function fixturesOf(version: string): Map<string, readonly Fixture[]> {
  const folder = `${FIXTURES}/${version}`;
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
  return new Map(
    files.map((file) => [
      basename(file, '.json'),
      JSON.parse(readFileSync(`${folder}/${file}`, 'utf8')),
    ]),
  );
}
