import { type Call, HttpCaller } from '#bench/load/http-caller';
import { at } from '#bench/load/process-answer';
import { readCycleCount } from '#bench/measures/cycle-count';
import type { Server } from '#bench/processes/servers';

/** Maximum page size of the instance list (interface 8.4). */
const PAGE = 100;

/**
 * Compares the sum of `cycle_count` over all listed instances with the service's cycle counter.
 * Throws if they differ. Each run has already compared its answers with the same counter.
 */
export async function checkLedger(server: Server): Promise<void> {
  const { service } = server;
  if (service === undefined) return;
  using caller = new HttpCaller(server.listAddress ?? server.address, server.plan.key);
  const pages = Math.ceil(server.plan.instances.length / PAGE);
  const callOf = (page: number): Call => {
    const path = `/v1/instances?limit=${PAGE}&offset=${page * PAGE}`;
    return { method: 'GET', path };
  };
  const sums = await caller.sendAll(pages, callOf, cyclesOf);
  const listed = sums.reduce((sum, cycles) => sum + cycles, 0);
  const { advanced } = await readCycleCount(service.metricsUrls);
  if (listed === advanced) return;
  throw new Error(
    `(${server.label}): the instances have ${listed} cycles, but the counter is ${advanced}`,
  );
}

function cyclesOf(answer: unknown): number {
  const page = at(answer, ['data']);
  if (!Array.isArray(page)) throw new Error('GET /v1/instances returned no list');
  return page.reduce((sum, item) => sum + Number(at(item, ['cycle_count'])), 0);
}
