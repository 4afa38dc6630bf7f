/**
 * An account that takes part in a round. All its requests contain its marker. Therefore a marker in
 * an answer to another account proves a leak.
 */
export type Party = {
  readonly name: string;
  readonly key: string;
  readonly marker: string;
  /** Ids of the account's instances at the start of the round. A request may have deleted them. */
  readonly ids: string[];
};
