import { NO_PEOPLE, type People } from '#accounts/people';
import { memberChangesOf } from '#storage/member-changes';
import type { CopiedMembers } from '#storage/member-store';
import { CheckedTable, textIn } from '#storage/sqlite/checked-table';
import type { SqliteDatabase, Statement } from '#storage/sqlite/database';
import { changeRevised, RevisedTable } from '#storage/sqlite/revised-table';

const PEOPLE = new RevisedTable<People>('account_people', 'account_id');
const ACCOUNTS_OF = new CheckedTable({
  name: 'user_accounts',
  keys: ['user_id', 'account_id'],
  others: [],
});

const OF_USER = ACCOUNTS_OF.select('WHERE user_id = ?');
const OF_ACCOUNTS = PEOPLE.select(
  'WHERE account_id IN (SELECT value FROM json_each(?)) ORDER BY account_id',
);

/** People of accounts in a file, those of each in one row. `database` stays the caller's. */
export function sqliteMemberStore(database: SqliteDatabase): CopiedMembers {
  const change = (accountId: string, next: (people: People) => People) =>
    changeRevised(
      { database, table: PEOPLE, key: accountId, operation: 'people' },
      (before = NO_PEOPLE) => {
        const after = next(before);
        const answer = { before, after };
        if (after === before) return { answer };
        return { put: after, also: accountChanges(accountId, before, after), answer };
      },
    );

  return {
    async find(accountId) {
      const found = await PEOPLE.find(database, 'people_read', accountId);
      return found?.state ?? structuredClone(NO_PEOPLE);
    },
    async accountsOf(userId) {
      const query = { operation: 'user_account_read', sql: OF_USER, values: [userId] };
      const ids = (await ACCOUNTS_OF.read(database, query)).map((row) => textIn(row, 1));
      const values = [JSON.stringify(ids)];
      const rows = await database.read({ operation: 'people_read', sql: OF_ACCOUNTS, values });
      const members = PEOPLE.rowsOf(rows).flatMap(({ state }) => state.members);
      return members.filter((member) => member.userId === userId);
    },
    ...memberChangesOf(change),
  };
}

/** What makes the account one of those of its new members, and of its former ones no more. */
function accountChanges(accountId: string, before: People, after: People): Statement[] {
  const usersOf = ({ members }: People) => new Set(members.map(({ userId }) => userId));
  const were = usersOf(before);
  const are = usersOf(after);
  const one = 'user_id = ? AND account_id = ?';
  return [
    ...[...are.difference(were)].map((userId) => ACCOUNTS_OF.put([userId, accountId])),
    ...[...were.difference(are)].map((userId) => ACCOUNTS_OF.delete(one, [userId, accountId])),
  ];
}
