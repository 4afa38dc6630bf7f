import type { SqliteDatabase } from '#storage/sqlite/database';
import { factOf, putFact } from '#storage/sqlite/facts';
import type { UnrecordedMark } from '#storage/unrecorded-mark';

const FACT = 'unrecorded_reads';
const POSSIBLE = 'possible';

/** The mark of a file. `database` stays the caller's. */
export function sqliteUnrecordedMark(database: SqliteDatabase): UnrecordedMark {
  return {
    async set() {
      if ((await factOf(database, FACT)) === POSSIBLE) return true;
      await putFact(database, FACT, POSSIBLE);
      return false;
    },
    clear: () => putFact(database, FACT, 'none'),
  };
}
