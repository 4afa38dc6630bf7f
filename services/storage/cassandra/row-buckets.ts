/** Rows of one partition of history or drift. Fixed: it says where stored rows lie. */
export const BUCKET_ROWS = 4_096;

/** The bucket in which the row with this ordinal lies; ordinals begin at 1, buckets at 0. */
export function bucketOf(ordinal: number): number {
  return Math.floor((ordinal - 1) / BUCKET_ROWS);
}

/** A part of one bucket: ordinals above `after` up to `newest`. */
export type BucketRange = {
  readonly bucket: number;
  readonly newest: number;
  readonly after: number;
};

/** The buckets in which the `count` ordinals from `newest` downwards lie, newest first. */
export function rangesOf(newest: number, count: number): BucketRange[] {
  const last = Math.max(0, newest - Math.max(0, count));
  const ranges: BucketRange[] = [];
  for (let top = newest; top > last; ) {
    const bucket = bucketOf(top);
    const after = Math.max(last, bucket * BUCKET_ROWS);
    ranges.push({ bucket, newest: top, after });
    top = after;
  }
  return ranges;
}
