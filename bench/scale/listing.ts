import { type DurableService, startDurable } from '#bench/durable/service';
import { HttpCaller } from '#bench/load/http-caller';
import { activeInstances, ownedShards, untilStoredIn } from '#bench/measures/gauges';
import { figure, type Part } from '#bench/page/part';
import { untilAnswered } from '#bench/processes/readiness';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { ListedInstances, type ListedPage } from '#bench/scale/listed-instances';
import { pageFigure, timed } from '#bench/scale/rates/latencies';
import { rateFigure, ratesOf } from '#bench/scale/rates/steady-rate';

/** Items per page: the API's default. */
const PAGE_ITEMS = 20;

/**
 * `warmUp` instances are created before the rate measurement. In each of four orders, `pages`
 * measured pages follow `warmPages` other pages: heads are cold, but V8 and Java are warm.
 */
const FULL = { instances: 200_000, warmUp: 5_000, warmPages: 300, pages: 75 };
const QUICK = { instances: 3_000, warmUp: 500, warmPages: 5, pages: 5 };

/** Maximum share of instances in memory after listing: listing must not activate instances. */
const WARM_SHARE_MAX = 0.05;

/** Creation rate in a large account, and latency of listing inactive instances. */
export const listing: Part = {
  name: 'listing',
  group: 'growth',
  title: 'One account of 200,000 instances',
  about:
    'Calls create the instances one after the other. Then the engine starts again and lists ' +
    'instances that are not in memory.',
  needs: ['cassandra'],
  async measure({ isQuick, print }) {
    const size = isQuick ? QUICK : FULL;
    await using service = await startDurable({ engines: 1, folder: temporaryFolder(), print });
    using caller = new HttpCaller(service.address, service.key);
    const listed = await ListedInstances.create(caller, size.instances, print);
    const rates = ratesOf(listed.answeredMs.slice(size.warmUp));
    await untilStoredIn({ isQuick, print }, service.metricsUrls);
    print('restarting the engine');
    await restart(service);
    const read = async (page: ListedPage): Promise<number> => {
      const { ms, answer } = await timed(() => caller.send({ method: 'GET', path: pathOf(page) }));
      listed.check(answer, page);
      return ms;
    };
    const deepest = size.instances - PAGE_ITEMS;
    const firstMs = await read({
      limit: PAGE_ITEMS,
      offset: deepest,
      sort: 'created_at',
      order: 'desc',
    });
    print('reading pages');
    const times: number[] = [];
    for (const page of pagesFrom(size.instances / 4, size.warmPages)) await read(page);
    for (const page of pagesFrom(size.instances / 2, size.pages)) times.push(await read(page));
    // Tail recovery activates only the instances of the last journal records, which lie at the end.
    const active = await activeInstances(service.metricsUrls);
    if (active > size.instances * WARM_SHARE_MAX) {
      throw new Error(
        `${active} instances are in memory after listing, although listing must not activate instances`,
      );
    }
    const figures = [
      rateFigure('rate of creates in the last tenth of the run', rates),
      figure(
        'latency of the first page after a restart, which loads the listing',
        `${firstMs.toFixed(0)} ms`,
      ),
      pageFigure(`latency of a page of ${PAGE_ITEMS} instances that are not in memory`, times),
    ];
    return { figures };
  },
};

/** Pages from offset `first` in each order. No page was read before in its order. */
function pagesFrom(first: number, pages: number): ListedPage[] {
  return Array.from({ length: pages }, (_, page) => {
    const offset = first + page * PAGE_ITEMS;
    const orders = ['asc', 'desc'] as const;
    const sorts = ['created_at', 'name'] as const;
    return sorts.flatMap((sort) =>
      orders.map((order) => ({ limit: PAGE_ITEMS, offset, sort, order })),
    );
  }).flat();
}

function pathOf({ limit, offset, sort, order }: ListedPage): string {
  return `/v1/instances?limit=${limit}&offset=${offset}&sort=${sort}&order=${order}`;
}

/** Restarts the engine cleanly; resolves when the engine owns all shards again. */
async function restart(service: DurableService): Promise<void> {
  const ownedBefore = await ownedShards(service.metricsUrls);
  for (const engine of service.engines) await engine[Symbol.asyncDispose]();
  const again = service.startAgain(0);
  await untilAnswered(again, async () =>
    (await ownedShards(service.metricsUrls)) === ownedBefore ? true : undefined,
  );
}
