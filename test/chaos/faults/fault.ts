import type { Scene } from '#test/chaos/scene';

/** A fault to inject into a cluster. */
export type Fault = {
  readonly name: string;
  readonly title: string;
  /** Whether the fault needs a proxy between engines and Cassandra. */
  readonly isProxied?: true;
  /** Whether the fault needs three Cassandra nodes with full replicas. */
  readonly isReplicated?: true;
  /** Whether edges use the limiter timeout of production, to measure how they fail closed. */
  readonly isTimed?: true;
  /** Whether the fault also runs on a cluster with production timeouts, for comparison. */
  readonly isCompared?: true;
  /** Maximum share of failed calls from the start until 5 s after the end; unlimited if absent. */
  readonly errorShareMax?: number;
  /** Injects the fault; resolves when the cluster should serve everything again. */
  readonly run: (scene: Scene) => Promise<void>;
};

/** Time until a supervisor has restarted a killed process, in ms. */
export const BACK_MS = 6_000;
