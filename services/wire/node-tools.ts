/** Who a process says it is before it joins a cluster and between two lives: its last one is over. */
export const NOBODY = 'nobody';

/** How far a node is with giving its shards up. */
export type DrainProgress = { readonly incarnation: string; readonly openShards: number };

/** What processes and operators may ask of any node of a cluster. */
export interface NodeTools {
  /** This life of the node, or `NOBODY`. */
  identity(): string;
  /**
   * Gives every shard up and takes none until the process ends; answers at once, and may be
   * repeated. Rejects with `conflict` when nobody else could take them.
   */
  drain(): Promise<DrainProgress>;
}
