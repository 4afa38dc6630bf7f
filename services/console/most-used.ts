import type { ListedCycles } from '#edge/engine-reads';

/** What was found, most cycles first and equal ones by id, and whether no other one has more. */
type MostUsed = { readonly rows: readonly ListedCycles[]; readonly isComplete: boolean };

/** How it is found. */
type Search = {
  /** Instances that are wanted. */
  readonly count: number;
  /** Instances that are asked for at a time. */
  readonly atOnce: number;
  /** How many are asked for whatever their cycles in all: those may be a little old. */
  readonly surely: number;
};

/**
 * The `count` instances with the most cycles of a part of their time, out of their cycles in all,
 * which that part is never more than. `cyclesOf` says how many an instance has in that part, or
 * undefined once no more may be asked. The largest in all are asked first, until none that is left can
 * be among the most used any more: Fagin's threshold algorithm, with one list. Rejects as `cyclesOf`
 * does, and asks for no further one then.
 */
export async function mostUsed(
  instances: readonly ListedCycles[],
  cyclesOf: (instance: ListedCycles) => Promise<number | undefined>,
  { count, atOnce, surely }: Search,
): Promise<MostUsed> {
  const queue = instances.toSorted(mostFirst).entries();
  let rows: readonly ListedCycles[] = [];
  let isOver = false;
  let isComplete = true;

  const canStillCount = (instance: ListedCycles): boolean => {
    const last = rows[count - 1];
    return instance.cycles > 0 && (last === undefined || mostFirst(instance, last) < 0);
  };
  const ask = async (instance: ListedCycles): Promise<void> => {
    const cycles = await cyclesOf(instance);
    if (cycles === undefined) isComplete = false;
    else if (cycles > 0) rows = [...rows, { ...instance, cycles }].sort(mostFirst).slice(0, count);
  };
  const worker = async (): Promise<void> => {
    try {
      for (const [index, instance] of queue) {
        const isWanted = index < surely || canStillCount(instance);
        if (isOver || !isComplete || !isWanted) return;
        await ask(instance);
      }
    } catch (error) {
      isOver = true;
      throw error;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return { rows, isComplete };
}

function mostFirst(a: ListedCycles, b: ListedCycles): number {
  if (a.cycles !== b.cycles) return b.cycles - a.cycles;
  return a.id < b.id ? -1 : 1;
}
