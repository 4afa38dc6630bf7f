import { readdirSync, readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACTION_GROUPS } from '#pages/audit/words';

/** Names of audited actions in the source: `action: 'key.create'`. */
const IN_SOURCE = /(?:\b(?:action|change|auditedAs): |made\()'([a-z]+\.[a-z_]+)'/g;

/** Names of actions of the console: members of the union `AuditAction`. */
const IN_UNION = /^ {2}\| '([a-z]+\.[a-z_]+)'/gm;
const UNION_FILE = 'services/programs/console/people/audit.ts';

/** Folders whose code writes to audit trails. */
const FOLDERS = ['services/domain/billing', 'services/programs'];

const words = suite('the audit trail page');

words('has words for every action that the service writes', () => {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => `${folder}/${file}`),
  );
  const written = new Set(
    files.flatMap((file) => {
      const text = readFileSync(file, 'utf8');
      const pattern = file === UNION_FILE ? IN_UNION : IN_SOURCE;
      return [...text.matchAll(pattern)].map(([, action = '']) => action);
    }),
  );
  const named = new Set(ACTION_GROUPS.flatMap(({ choices }) => choices.map(([value]) => value)));
  assert.ok(written.size > 40, `${written.size}`);
  assert.equal(
    [...written].filter((action) => !named.has(action)),
    [],
  );
});

words.run();
