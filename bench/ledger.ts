import { readCycleCount } from '#bench/cycle-count';
import { HttpCaller } from '#bench/http-caller';
import { at } from '#bench/process-answer';
import type { Server } from '#bench/servers';

/** The largest page of the list of instances (interface 8.4). */
const PAGE = 100;

/**
 * Adds up the `cycle_count` of all instances as the API shows them, and compares the sum with the
 * service's counter of cycles, which vouched for every single run. Throws when they differ.
 */
export async function checkLedger(server: Server): Promise<void> {
  const { service } = server;
  if (service === undefined) return;
  using caller = new HttpCaller(server.address, server.plan.key);
  let listed = 0;
  for (let offset = 0; offset < server.plan.instances.length; offset += PAGE) {
    const path = `/v1/instances?limit=${PAGE}&offset=${offset}`;
    const page = at(await caller.send({ method: 'GET', path }), ['data']);
    if (!Array.isArray(page)) throw new Error(`GET ${path} gave no list`);
    for (const item of page) listed += Number(at(item, ['cycle_count']));
  }
  const { advanced } = await readCycleCount(service.metricsUrls);
  if (listed === advanced) return;
  throw new Error(`(${server.label}) lists ${listed} cycles, but counted ${advanced}`);
}
