import { reportOf } from '#engine/instance-answers';
import type { State } from '#identity/state';

/** What a listing shows of an instance besides its row. Source: spec 2.4. */
export type Glance = { readonly cycle: number; readonly energy: number };

/** Cycle and energy of an account's instances by id; one that is gone is left out. */
export type GlancesOf = (
  accountId: string,
  instanceIds: readonly string[],
) => Promise<ReadonlyMap<string, Glance>>;

/** Looks at instances one by one, in whatever way `modelOf` reads them. Throws what it throws. */
export async function glancesFrom(
  instanceIds: readonly string[],
  modelOf: (instanceId: string) => Promise<State | undefined>,
): Promise<Map<string, Glance>> {
  const glances = new Map<string, Glance>();
  await Promise.all(
    instanceIds.map(async (id) => {
      const glance = glanceOf(await modelOf(id));
      if (glance !== undefined) glances.set(id, glance);
    }),
  );
  return glances;
}

function glanceOf(model: State | undefined): Glance | undefined {
  // The marker of a deleted instance has a vector without places.
  if (model === undefined || model.length === 0) return undefined;
  const { cycle, energy } = reportOf(model).snapshot;
  return { cycle, energy };
}
