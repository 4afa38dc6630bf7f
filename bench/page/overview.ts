import { numberText } from '#bench/measures/statistics';
import type { Quantity } from '#bench/page/part';
import type { Results } from '#bench/page/results';
import { tableOf } from '#bench/page/text-table';
import { findCell } from '#ctl/capacity/measured';

/** Rows of a part that do the same work without and with idempotency keys. */
type Way = {
  readonly title: string;
  readonly part: string;
  readonly plain: string;
  readonly keyed?: string;
};

/** Ways to run the service, and other ways to do the same work. */
const WAYS: readonly Way[] = [
  { title: 'service in memory, one process', part: 'service', plain: 's', keyed: 'sk' },
  { title: 'service in memory, three processes', part: 'service', plain: 'p', keyed: 'pk' },
  { title: 'service on one SQLite file', part: 'file', plain: 'e', keyed: 'ke' },
  { title: 'service on Cassandra, 1,000 instances', part: 'cluster', plain: 'd', keyed: 'k' },
  { title: 'service on Cassandra, 50,000 instances', part: 'many', plain: 'd50', keyed: 'k50' },
  { title: 'Fastify without state', part: 'service', plain: 'c' },
  { title: 'Fastify + PostgreSQL transaction', part: 'cluster', plain: 'pg', keyed: 'pgk' },
  { title: 'Fastify + PostgreSQL compare-and-set', part: 'cluster', plain: 'cas', keyed: 'cask' },
  { title: 'Fastify + Redis, append-only file', part: 'cluster', plain: 'redis', keyed: 'redisk' },
  { title: 'Pekko + Cassandra', part: 'frameworks', plain: 'pekko', keyed: 'pekkok' },
  { title: 'Restate', part: 'frameworks', plain: 'restate', keyed: 'restatek' },
  { title: 'Dapr + Redis', part: 'frameworks', plain: 'dapr', keyed: 'daprk' },
];

/** Table with the rows of every part in the overview. */
const TABLE = '64 connections';

/** Programs that make the load. They do not count as cost. */
const GENERATORS = ['wrk', 'k6'];

/**
 * Observations per core-second: how many observations one core completes in one second, including
 * the work of the database. Derived from the CPU times of the parts.
 */
export function overview(results: Results): string {
  const rows = WAYS.flatMap(({ title, part, plain, keyed }) => {
    const rates = [plain, keyed].map((row) =>
      row === undefined ? undefined : rateOf(results, part, row),
    );
    if (rates.every((rate) => rate === undefined)) return [];
    return [[title, ...rates.map((rate) => (rate === undefined ? '' : numberText(rate, 0)))]];
  });
  const about =
    'Observations per core-second: how many observations one core completes in a second, at ' +
    `${TABLE}. The CPU time of databases counts, the CPU time of the load generator does not. ` +
    '"With keys": each call has a new `Idempotency-Key`.';
  const head = ['', 'observations per core-second', 'with keys'];
  return ['## Cost of an observation', about, tableOf(head, rows)].join('\n\n');
}

/** Observations per core-second of a row; undefined if the part has no such row. */
function rateOf(results: Results, part: string, row: string): number | undefined {
  const cell = findCell(results, { part, table: TABLE, row, column: 'CPU µs' });
  if (cell === undefined || typeof cell === 'string' || typeof cell === 'number') return undefined;
  const micros = Object.entries(cell as Readonly<Record<string, Quantity>>)
    .filter(([name]) => !GENERATORS.includes(name))
    .map(([, quantity]) => (typeof quantity === 'number' ? quantity : quantity.median));
  return 1e6 / micros.reduce((sum, each) => sum + each, 0);
}
