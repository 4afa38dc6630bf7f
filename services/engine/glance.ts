import { reportOf } from '#engine/instance-answers';
import type { InstanceHead } from '#storage/instance-store';

/** What a listing shows of an instance besides its row. Source: spec 2.4. */
export type Glance = {
  readonly cycle: number;
  readonly energy: number;
  readonly description: string;
};

/** What of an instance's head that takes. */
export type GlancedHead = Pick<InstanceHead, 'model' | 'description'>;

/** Cycle, energy and description of an account's instances by id; one that is gone is left out. */
export type GlancesOf = (
  accountId: string,
  instanceIds: readonly string[],
) => Promise<ReadonlyMap<string, Glance>>;

/** Looks at instances one by one, in whatever way `headOf` reads them. Throws what it throws. */
export async function glancesFrom(
  instanceIds: readonly string[],
  headOf: (instanceId: string) => Promise<GlancedHead | undefined>,
): Promise<Map<string, Glance>> {
  const glances = new Map<string, Glance>();
  await Promise.all(
    instanceIds.map(async (id) => {
      const glance = glanceOf(await headOf(id));
      if (glance !== undefined) glances.set(id, glance);
    }),
  );
  return glances;
}

function glanceOf(head: GlancedHead | undefined): Glance | undefined {
  // The marker of a deleted instance has a vector without places.
  if (head === undefined || head.model.length === 0) return undefined;
  const { cycle, energy } = reportOf(head.model).snapshot;
  return { cycle, energy, description: head.description };
}
