/** An observation that no checkpoint has stored yet. */
export type UnstoredCycle = {
  readonly generation: number;
  readonly cycle: number;
  /** Index of the mode in the model's fixed order. */
  readonly mode: number;
  readonly signal: number;
  readonly confidence: number;
  /** The observation's time in Unix milliseconds. */
  readonly timestampMs: number;
};

/** What an engine has in memory of an instance. */
export type ActiveInstance = {
  readonly version: number;
  readonly generation: number;
  readonly cycle: number;
  /** The last few that are not stored, newest first. */
  readonly unstoredCycles: readonly UnstoredCycle[];
};

/** What an engine knows of an instance, whoever owns it. */
export type InspectedInstance = {
  /** This life of the engine. */
  readonly incarnation: string;
  /** Whether calls for the instance are answered there. */
  readonly isServed: boolean;
  /** Undefined: it is not in memory. */
  readonly active: ActiveInstance | undefined;
};

/** How far an engine is with giving its shards up. */
export type DrainProgress = { readonly incarnation: string; readonly openShards: number };

/** What operators may ask of one engine of a cluster, besides the calls of callers. */
export interface EngineTools {
  /** Looks at an instance and activates nothing. Rejects with `service_unavailable`. */
  inspect(instanceId: string): Promise<InspectedInstance>;
  /**
   * Gives every shard up and takes none until the process ends; answers at once, and may be
   * repeated. Rejects with `conflict` when nobody else could take them.
   */
  drain(): Promise<DrainProgress>;
}
