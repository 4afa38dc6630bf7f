import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { FixtureKey } from '#test/release/fixture-kinds';

/** Folder with the fixtures of all releases. */
export const FIXTURES = 'test/fixtures';

/** Bytes written by a release, and their decoded content. */
type Fixture = {
  readonly key: FixtureKey;
  /** Base64. */
  readonly bytes: string;
  readonly read: unknown;
};

/** Releases with fixtures. */
export function fixtureVersions(): string[] {
  const entries = readdirSync(FIXTURES, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/** Fixtures of a release by kind. */
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
