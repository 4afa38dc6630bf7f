import { join } from 'node:path';
import { type JournalAppends, measureJournal } from '#bench/durable/journal-appends';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { startCassandra } from '#deploy/local/servers/cassandra-server';

/**
 * Starts Cassandra and measures an aged journal. Separate, because bench/journal.ts imports
 * `journal-appends` but must not load code that starts servers.
 */
export async function measureJournalAge(
  slots: number,
  print: (line: string) => void,
): Promise<JournalAppends> {
  const folder = temporaryFolder();
  const place = { folder: join(folder, 'cassandra'), logFolder: folder, print };
  await using cassandra = await startCassandra(place);
  print(`journal: appending and truncating ${slots} slots, about 2 ms each`);
  return await measureJournal(cassandra.address, slots);
}
