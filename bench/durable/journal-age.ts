import { join } from 'node:path';
import { AGED_RATIO_MAX, measureJournal } from '#bench/durable/journal-appends';
import { figure, type Part } from '#bench/page/part';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { startCassandra } from '#deploy/local/servers/cassandra-server';

/** Number of truncated slots. Source: the project's target. */
const SLOTS = 200_000;
const SLOTS_QUICK = 2_000;

/** Appends to a fresh journal, and to a journal that has truncated many slots. */
export const journalAge: Part = {
  name: 'journal',
  group: 'fail-over',
  title: 'Appends to an aged journal',
  about:
    `The aged journal has truncated ${SLOTS.toLocaleString('en')} slots and is flushed to disk. ` +
    'Appends to the fresh and to the aged journal take turns.',
  needs: ['cassandra'],
  async measure({ isQuick, print }) {
    const slots = isQuick ? SLOTS_QUICK : SLOTS;
    const folder = temporaryFolder();
    const place = { folder: join(folder, 'cassandra'), logFolder: folder, print };
    await using cassandra = await startCassandra(place);
    print(`appending and truncating ${slots} slots, about 2 ms each`);
    const { freshP50Ms, agedP50Ms } = await measureJournal(cassandra.address, slots);
    const ratio = agedP50Ms / freshP50Ms;
    return {
      figures: [
        {
          what: 'append p50, aged / fresh journal',
          target: `≤ ${AGED_RATIO_MAX}`,
          reached: ratio.toFixed(2),
          isMet: ratio <= AGED_RATIO_MAX,
        },
        figure('append p50, fresh journal', `${freshP50Ms.toFixed(2)} ms`),
        figure('append p50, aged journal', `${agedP50Ms.toFixed(2)} ms`),
      ],
    };
  },
};
