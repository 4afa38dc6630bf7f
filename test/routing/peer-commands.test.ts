import { globSync, readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { PeerCommand } from '#grpc/engine-messages';

/** Commands between engines. The type ensures that the list is complete. */
const KINDS: Record<PeerCommand['kind'], true> = {
  putListingRow: true,
  removeListingRow: true,
  reservePlace: true,
  readSummaries: true,
  readIndexed: true,
  recordTransitions: true,
};

const apart = suite('the commands between engines');

apart('do not occur in the code that serves callers', () => {
  const files = globSync('services/programs/edge/**/*.ts');
  assert.ok(files.length > 20, 'the search finds the code that it has to check');
  for (const file of files) {
    const source = readFileSync(file, 'utf8');
    for (const kind of Object.keys(KINDS)) assert.not.match(source, `'${kind}'`, file);
  }
});

apart.run();
