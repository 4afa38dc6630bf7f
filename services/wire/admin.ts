/** Who a node says it is between two incarnations, and before its first: the last one is over. */
export const NO_INCARNATION = 'none';

/** How far a node is with giving its shards up. */
export type DrainProgress = { readonly incarnation: string; readonly openShards: number };

/** What any node of a cluster offers to operators and to other nodes. */
export interface NodeAdmin {
  /** The present incarnation of the node, or `NO_INCARNATION`. */
  identity(): string;
  /**
   * Gives every shard up and takes none until the process ends; answers at once, and may be
   * repeated. Rejects with `conflict` when no other node could take them.
   */
  drain(): Promise<DrainProgress>;
}

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

/** What an engine reports of an instance, which may be another engine's. */
export type InstanceReport = {
  /** The present incarnation of the engine. */
  readonly incarnation: string;
  /** Whether calls for the instance are answered there. */
  readonly isServed: boolean;
  /** Undefined: it is not in memory. */
  readonly active: ActiveInstance | undefined;
};

/** What an engine of a cluster offers besides. */
export interface InstanceAdmin {
  /** Reports of an instance and activates nothing. Rejects with `service_unavailable`. */
  readInstance(instanceId: string): Promise<InstanceReport>;
}

/** What one key has used of a month: its prefix (`KeyCycles`), and the cycles of each of its days. */
export type KeyUsage = { readonly prefix: string; readonly cyclesByDay: readonly number[] };

/** What an account has used in a month. */
export type MonthUsage = {
  readonly endsAtMs: number;
  /** Those of each UTC day from the first on; they add up to the month. */
  readonly cyclesByDay: readonly number[];
  /** Of them; what is missing in their sum is of no key that is known. */
  readonly keys: readonly KeyUsage[];
};

/** What an account has used, for its owner's eyes. */
export type MeterUsage = {
  readonly limits: { readonly requestsPerMinute: number; readonly cyclesPerMonth: number };
  readonly requestsInWindow: number;
  /** Unix second at which the window ends; undefined between two windows. */
  readonly windowResetAtS: number | undefined;
  readonly cyclesUsed: number;
  readonly cyclesReserved: number;
  readonly monthResetAtS: number;
  /** Cycles of the month that may be granted without asking the journal again. */
  readonly monthWatermark: number;
  /** Requests of the window that may be granted without asking the journal again. */
  readonly windowWatermark: number;
  /** Of the used cycles: reserved and never settled. */
  readonly cyclesExpired: number;
  /** Of the used cycles: may have been lost in crashes. */
  readonly cyclesLost: number;
  /** Those of each UTC day of the month up to today; they add up to the used ones. Empty: none. */
  readonly cyclesByDay: readonly number[];
  /** Of them, those of each key; what is missing in their sum is of no key that is known. */
  readonly keys: readonly KeyUsage[];
  /** Months that are over and may not be stored by themselves yet, oldest first. */
  readonly finishedMonths: readonly MonthUsage[];
};

/** What a limiter of a cluster offers besides. */
export interface UsageAdmin {
  /**
   * What the account has used, as its owner counts it; undefined when there is no such account.
   * Rejects with `service_unavailable` (`not_owner`) when another limiter owns it.
   */
  readUsage(accountId: string): Promise<MeterUsage | undefined>;
  /** Begins the present month where the account's meter is in another one; answers as `readUsage`. */
  resetUsage(accountId: string): Promise<MeterUsage | undefined>;
}

/** What a node holds in memory, and how often it was called. */
export type NodeLoad = {
  /** Whose load it is. */
  readonly incarnation: string;
  /** Instances and directories of an engine, meters of a limiter, and roughly the bytes they hold. */
  readonly actors: number;
  readonly actorBytes: number;
  /** Committed records that no checkpoint has stored. */
  readonly unstoredRecords: number;
  /** For how long the oldest of them waits, in milliseconds; undefined: there is none. */
  readonly oldestUnstoredMs: number | undefined;
  /** Calls of this incarnation since it began. */
  readonly calls: number;
};

/** What a node of a cluster offers to who looks after it. */
export interface LoadAdmin {
  /** The load now. Rejects with `service_unavailable` between two incarnations. */
  readLoad(): Promise<NodeLoad>;
}

/** What one node offers: as any does, and as an engine or a limiter. */
export type AdminTarget = NodeAdmin &
  Partial<LoadAdmin> &
  Partial<InstanceAdmin> &
  Partial<UsageAdmin>;
