/**
 * An account that takes part. Everything it writes or sends carries its marker, so that a marker in
 * another party's answers proves a leak.
 */
export type Party = {
  readonly name: string;
  readonly key: string;
  readonly marker: string;
  /** Instances that are its own, old and deleted ones too. */
  readonly ids: string[];
};
