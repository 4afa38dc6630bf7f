import { memoryFeedStore } from '#storage/memory/feeds';
import { feedStoreContract, trimmedFeedContract } from '#test/storage/contracts/feed-store';

const open = async () => memoryFeedStore();

for (const part of [feedStoreContract('memory', open), trimmedFeedContract('memory', open)]) {
  part.run();
}
