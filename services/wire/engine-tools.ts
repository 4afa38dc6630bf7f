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

/** What operators may ask of one engine of a cluster, besides what they may of any node. */
export interface EngineTools {
  /** Looks at an instance and activates nothing. Rejects with `service_unavailable`. */
  inspect(instanceId: string): Promise<InspectedInstance>;
}
