import type { DirtyFlag } from '#storage/dirty-flag';
import type { SqliteDatabase } from '#storage/sqlite/database';
import { factOf, putFact } from '#storage/sqlite/facts';

const FACT = 'unrecorded_reads';
const POSSIBLE = 'possible';

/** The flag of a file. `database` stays the caller's. */
export function sqliteDirtyFlag(database: SqliteDatabase): DirtyFlag {
  return {
    async set() {
      if ((await factOf(database, FACT)) === POSSIBLE) return true;
      await putFact(database, FACT, POSSIBLE);
      return false;
    },
    clear: () => putFact(database, FACT, 'none'),
  };
}
