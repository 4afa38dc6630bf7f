import { memoryMemberStore, memorySessionStore, memoryUserStore } from '#storage/memory/people';
import { memberStoreContract } from '#test/storage/contracts/member-store';
import { sessionStoreContract } from '#test/storage/contracts/session-store';
import { userStoreContract } from '#test/storage/contracts/user-store';
import { ManualClock } from '#test/support/manual-clock';

const contract = [
  userStoreContract('memory', async () => ({ store: memoryUserStore(), prefix: '' })),
  sessionStoreContract('memory', async () => {
    const clock = new ManualClock();
    return { store: memorySessionStore(clock), prefix: '', nowMs: clock.wallMs() };
  }),
  ...memberStoreContract('memory', async () => ({ store: memoryMemberStore(), prefix: '' })),
];

for (const suite of contract) suite.run();
