import { measureOneFile, type Sizes } from '#bench/one-file/measure';
import { oneFileFindings } from '#bench/one-file/report';
import type { Part } from '#bench/page/part';

// The load lasts more than twice the maximum delay of a checkpoint.
const FULL: Sizes = {
  instances: 1_000_000,
  rate: 1_000,
  seconds: 300,
  pages: 1_000,
  memory: 20_000,
};
const QUICK: Sizes = { instances: 20_000, rate: 200, seconds: 15, pages: 20, memory: 0 };

/**
 * One SQLite file with a million instances: history pages, starts after a clean stop and after a
 * crash, bytes per table, and the size of the journal under a steady load.
 */
export const largeFile: Part = {
  name: 'large-file',
  group: 'file',
  title: 'One large file',
  about:
    'A process serves a SQLite file with 1,000,000 instances in one account and 10,000,000 ' +
    'observations. 90 % of the instances have 4 observations, 9 % have 40, 1 % has 280. The ' +
    'benchmark wrote this data in the same form as the checkpoints of the service. `heads` has the ' +
    'newest history rows.',
  missed:
    'The first page loads the list of all instances. A start reads the journal from the oldest ' +
    'record that no checkpoint contains.',
  measure: async ({ isQuick, print }) =>
    oneFileFindings(await measureOneFile(isQuick ? QUICK : FULL, print)),
};
