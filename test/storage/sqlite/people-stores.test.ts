import { sqliteMemberStore, sqliteSessionStore, sqliteUserStore } from '#storage/sqlite/people';
import { memberStoreContract } from '#test/storage/contracts/member-store';
import { sessionStoreContract } from '#test/storage/contracts/session-store';
import { userStoreContract } from '#test/storage/contracts/user-store';
import { emptied, scratchFiles } from '#test/storage/sqlite/scratch-file';
import { ManualClock } from '#test/support/manual-clock';

const files = scratchFiles();
const database = files.open();

const contract = [
  userStoreContract('SQLite', async () => {
    return { store: sqliteUserStore(await emptied(database, 'users')), prefix: '' };
  }),
  sessionStoreContract('SQLite', async () => {
    const clock = new ManualClock();
    const store = sqliteSessionStore(await emptied(database, 'console_sessions'), clock);
    return { store, prefix: '', nowMs: clock.wallMs() };
  }),
  ...memberStoreContract('SQLite', async () => {
    const file = await emptied(database, 'account_people', 'user_accounts');
    return { store: sqliteMemberStore(file), prefix: '' };
  }),
];

for (const suite of [...contract, files.closing()]) suite.run();
