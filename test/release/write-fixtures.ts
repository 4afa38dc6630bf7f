import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { FIXTURES, fixturesOf } from '#test/release/fixture-folders';
import { FIXTURE_KINDS, plainJson } from '#test/release/fixture-kinds';
import { presentFixtures } from '#test/release/present-fixtures';

/*
 * Writes the release fixtures to test/fixtures/<version>, which every later version must read. Run
 * this program once per release. Existing folders are never overwritten.
 */

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const folder = `${FIXTURES}/${version}`;
if (existsSync(folder)) {
  process.stderr.write(`${folder} exists already: fixtures of a release never change\n`);
  process.exit(1);
}
mkdirSync(folder, { recursive: true });
for (const [kind, written] of Object.entries(presentFixtures())) {
  const entries = written.map(({ key, bytes }) => ({
    key,
    bytes: Buffer.from(bytes).toString('base64'),
    read: plainJson(FIXTURE_KINDS[kind]?.(Buffer.from(bytes), key)),
  }));
  writeFileSync(`${folder}/${kind}.json`, `${JSON.stringify(entries, undefined, 1)}\n`);
}
cpSync('proto', `${folder}/proto`, { recursive: true });
cpSync('services/infrastructure/storage/cassandra/schema.cql', `${folder}/schema.cql`);
process.stdout.write(`${fixturesOf(version).size} kinds in ${folder}\n`);
