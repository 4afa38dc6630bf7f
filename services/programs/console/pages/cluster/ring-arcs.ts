/** Adjacent shards of one owner. The owner is an index into the nodes, or null. */
export type Arc = {
  readonly from: number;
  /** Last shard, inclusive. */
  readonly to: number;
  readonly owner: number | null;
};

/** Merges adjacent shards with the same owner into arcs. */
export function arcsOf(owners: readonly (number | null)[]): readonly Arc[] {
  const arcs: Arc[] = [];
  for (const [shard, owner] of owners.entries()) {
    const last = arcs.at(-1);
    if (last !== undefined && last.owner === owner) arcs[arcs.length - 1] = { ...last, to: shard };
    else arcs.push({ from: shard, to: shard, owner });
  }
  return arcs;
}

/** Ring center in a 200 by 200 picture. */
const MIDDLE = 100;

/** Gap between arcs in units of the picture. No gap if shards are too narrow. */
const GAP = 0.8;

/** Outline of an arc between two radii, as an SVG path. */
export function arcPath(
  { from, to }: Pick<Arc, 'from' | 'to'>,
  count: number,
  { inner, outer }: { readonly inner: number; readonly outer: number },
): string {
  const turn = 2 * Math.PI;
  const gap = (turn * outer) / count > 4 * GAP ? GAP / outer : 0;
  const start = (turn * from) / count + gap / 2;
  // An SVG arc cannot span a whole circle, so a tiny gap remains.
  const end = Math.min((turn * (to + 1)) / count - gap / 2, start + turn - 0.001);
  const isLarge = end - start > Math.PI ? 1 : 0;
  const at = (angle: number, radius: number) => {
    const [x, y] = [MIDDLE + radius * Math.sin(angle), MIDDLE - radius * Math.cos(angle)];
    return `${x.toFixed(2)} ${y.toFixed(2)}`;
  };
  return [
    `M${at(start, outer)}`,
    `A${outer} ${outer} 0 ${isLarge} 1 ${at(end, outer)}`,
    `L${at(end, inner)}`,
    `A${inner} ${inner} 0 ${isLarge} 0 ${at(start, inner)}`,
    'Z',
  ].join('');
}
