import { ACCOUNT, CheckedWorld } from '#test/chaos/checked-world';
import { type CheckedStores, checkStores } from '#test/chaos/checks/stores';
import { Chance } from '#test/chaos/faults/chance';
import type { Call, Outcome, Requested } from '#test/chaos/load/call-log';
import { type KnownInstance, Requests } from '#test/chaos/load/requests';

/** Outcome of a call whose answer is lost. */
export const UNKNOWN: Outcome = { kind: 'unknown', why: 'a test' };
/** Outcome of a refused call. */
export const REFUSED: Outcome = { kind: 'refused', status: 404, reason: 'not_found' };
const KEY = 'key-1';

/** A correct model after calls of every kind. */
export function livedWorld() {
  const world = new CheckedWorld();
  const requests = new Requests(new Chance(3), 1_790_000_000_000);
  const create = (answered?: Outcome) =>
    world.call(
      requests.create(world.log.nextId),
      answered === undefined ? { key: 'c' } : { answered },
    );
  const main = create();
  let known: KnownInstance = { id: main.instance, accountId: ACCOUNT, sent: 0, inFlight: 0 };
  const requested = (kind: Parameters<Requests['use']>[0]): Requested =>
    requests.use(kind, world.log.nextId, known);
  const use = (kind: Parameters<Requests['use']>[0], course: object = {}): Call =>
    world.call(requested(kind), { instance: known.id, ...course });
  for (let left = 12; left > 0; left -= 1) use('process');
  const first = use('process');
  const second = use('process', { key: KEY });
  const batch = use('batch');
  const reset = use('reset');
  use('process', { answered: UNKNOWN });
  use('process', { answered: UNKNOWN, happens: false });
  use('batch', { answered: UNKNOWN });
  use('reset', { answered: UNKNOWN });
  use('rename');
  use('process', { answered: REFUSED, happens: false });
  const last = use('process');
  const other = create();
  const removed = create();
  known = { ...known, id: removed.instance };
  const ofRemoved = use('process', { key: 'unreachable' });
  const remove = use('remove');
  known = { ...known, id: main.instance };
  return {
    world,
    main,
    other,
    first,
    second,
    batch,
    reset,
    last,
    removed,
    ofRemoved,
    remove,
    use,
    create,
  };
}

/** The model, and the calls that tests corrupt. */
export type Life = ReturnType<typeof livedWorld>;

/** Findings of the checks after `spoil` has corrupted the stores. */
export async function findingsOf(
  life: Life,
  spoil: (stores: CheckedStores) => CheckedStores = (stores) => stores,
): Promise<string[]> {
  await life.world.store();
  const { instances, listings } = life.world;
  const { findings } = await checkStores(life.world.log, [ACCOUNT], spoil({ instances, listings }));
  return findings.lines;
}
