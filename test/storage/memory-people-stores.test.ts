import { memoryMemberStore, memorySessionStore, memoryUserStore } from '#storage/memory/people';
import { memberStoreContract } from '#test/storage/member-store-contract';
import { sessionStoreContract } from '#test/storage/session-store-contract';
import { userStoreContract } from '#test/storage/user-store-contract';
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
