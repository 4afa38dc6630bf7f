/**
 * Latency of appends to a fresh and to an aged journal on a running server. The aged journal has
 * truncated many slots and is flushed to disk. `make bench` measures the same on a new server.
 * Source: architecture 3.1.
 *
 *   node bench/journal.ts --server 127.0.0.1:9042 [--slots 200000]
 */
import { parseArgs } from 'node:util';
import { AGED_RATIO_MAX, measureJournal } from '#bench/durable/journal-appends';

const { slots, server } = readOptions();
const { freshP50Ms, agedP50Ms, filledS } = await measureJournal(server, slots);
const ratio = agedP50Ms / freshP50Ms;
console.log(`filled in ${filledS.toFixed(0)} s`);
console.log(`append p50, fresh journal:             ${freshP50Ms.toFixed(2)} ms`);
console.log(`append p50, ${slots} slots truncated: ${agedP50Ms.toFixed(2)} ms`);
console.log(`ratio ${ratio.toFixed(2)} (at most ${AGED_RATIO_MAX})`);
process.exitCode = ratio <= AGED_RATIO_MAX ? 0 : 1;

function readOptions() {
  const { values } = parseArgs({
    options: { slots: { type: 'string', default: '200000' }, server: { type: 'string' } },
  });
  const count = Number(values.slots);
  const address = values.server ?? process.env['TEST_CASSANDRA'];
  if (!Number.isSafeInteger(count) || count < 1 || address === undefined) {
    throw new Error('usage: node bench/journal.ts --server host:port [--slots n]');
  }
  return { slots: count, server: address };
}
