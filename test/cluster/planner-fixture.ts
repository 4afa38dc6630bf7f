import { planShards, type ShardAction, type ShardFacts } from '#cluster/shard-planner';
import type { ShardRow } from '#storage/ports/cluster';

/** A throttle of a node that does not leave. It allows every move. */
const OPEN_THROTTLE: ShardFacts['throttle'] = {
  isLeaving: false,
  hasRoom: () => true,
  mayGiveUp: () => false,
  mayMove: () => true,
};

/** Changes of the default facts, in which `me` owns no shard and every action is allowed. */
export type Differences = {
  /** Shard, owner and epoch of each row, as `3 a-1 7`. */
  readonly rows?: readonly string[];
  /** Target node of each shard, from shard 0 on. */
  readonly ring?: readonly string[];
  /** Defaults to the length of `ring`. */
  readonly shardCount?: number;
  readonly open?: readonly (readonly [shard: number, epoch: number])[];
  readonly opened?: readonly (readonly [shard: number, epoch: number])[];
  readonly busy?: readonly number[];
  readonly sealed?: readonly string[];
  readonly present?: readonly string[];
  readonly throttle?: Partial<ShardFacts['throttle']>;
  readonly startedMs?: number;
  readonly isConnected?: boolean;
  readonly hearsEnough?: boolean;
};

/** Actions planned at 100 s for `me-1`, which started at 0 with a grace period of 2 s. */
export function planOf(differences: Differences): ShardAction[] {
  const { sealed = [], ring = [] } = differences;
  const rows = (differences.rows ?? []).map((text) => rowOf(text));
  return planShards(
    {
      self: { incarnation: 'me-1', node: 'me' },
      shardCount: differences.shardCount ?? ring.length,
      rows: new Map(rows.map((row) => [row.shard, row])),
      ring,
      held: {
        open: new Map(differences.open),
        opened: new Map(differences.opened ?? differences.open),
        busy: new Set(differences.busy),
      },
      view: {
        startedMs: differences.startedMs ?? 0,
        startupGraceMs: 2_000,
        present: new Set(differences.present ?? ['me-1']),
        isSealed: (incarnation) => sealed.includes(incarnation),
        isConnected: differences.isConnected ?? true,
        hearsEnough: differences.hearsEnough ?? true,
      },
      throttle: { ...OPEN_THROTTLE, ...differences.throttle },
    },
    100_000,
  );
}

/** Parses a row such as `3 a-1 7`: shard, owner and epoch. */
export function rowOf(text: string): ShardRow {
  const [shard, owner = '', epoch] = text.split(' ');
  return { shard: Number(shard), owner, epoch: Number(epoch) };
}
