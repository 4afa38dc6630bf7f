/**
 * A participating account. Its marker is in everything it writes or sends, so that a marker in
 * another party's answer proves a leak.
 */
export type Party = {
  readonly name: string;
  readonly key: string;
  readonly marker: string;
  /** Ids of its instances, including old and deleted ones. */
  readonly ids: string[];
};
