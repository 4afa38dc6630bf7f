import type { Scene } from '#test/chaos/scene';

/** A fault to inject into a cluster. */
export type Fault = {
  /** Name for `--only`. */
  readonly name: string;
  /** Label in the report. */
  readonly title: string;
  /** Whether the fault needs a proxy between engines and Cassandra. */
  readonly isProxied?: true;
  /** Whether the fault needs three Cassandra nodes that each store all data. */
  readonly isReplicated?: true;
  /** Whether edges use the limiter timeout of production, to measure how edges fail closed. */
  readonly isTimed?: true;
  /** Whether a full run repeats the fault with the limiter timeout of production. */
  readonly isCompared?: true;
  /** Maximum share of failed calls from the start until 5 s after the end; default 1. */
  readonly errorShareMax?: number;
  /** Injects the fault. Resolves when the cluster serves all shards again. */
  readonly run: (scene: Scene) => Promise<void>;
};

/** Time until a supervisor has restarted a killed process, in ms. */
export const BACK_MS = 6_000;
