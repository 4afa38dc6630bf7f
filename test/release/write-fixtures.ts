import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { FIXTURES, fixturesOf } from '#test/release/fixture-folders';
import { FIXTURE_KINDS, plainJson } from '#test/release/fixture-kinds';
import { presentFixtures } from '#test/release/present-fixtures';

/*
 * Writes the release fixtures to test/fixtures/<version>: every later version must read them. Run
 * once per release; an existing folder is never overwritten.
 */

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const folder = `${FIXTURES}/${version}`;
if (existsSync(folder)) {
  process.stderr.write(`${folder} is there already: what a release wrote never changes\n`);
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
