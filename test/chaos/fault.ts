import type { Scene } from '#test/chaos/scene';

/** Something that happens to clusters. */
export type Fault = {
  readonly name: string;
  readonly title: string;
  /** Whether it takes a fault proxy between the engines and Cassandra. */
  readonly isProxied?: true;
  /** Whether it takes a cluster on three Cassandra nodes, each with a copy of everything. */
  readonly isReplicated?: true;
  /** Whether edges wait for limiters as long as in production: how they fail closed is measured. */
  readonly isTimed?: true;
  /** Whether it is done with such edges too, besides the usual ones. */
  readonly isCompared?: true;
  /** The share of calls that may fail from its beginning until 5 s after its end; any unless given. */
  readonly errorShareMax?: number;
  /** Does it, and fulfils when the cluster should serve everything again. */
  readonly run: (scene: Scene) => Promise<void>;
};

/** How long a killed process stays away before its supervisor starts it again, and some. Ms. */
export const BACK_MS = 6_000;
