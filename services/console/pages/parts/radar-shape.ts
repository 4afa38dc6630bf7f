/** The picture's size and the wheel in it, in its own units: room is left for names at the sides. */
export const RADAR_SIZE = { width: 330, height: 230, radius: 90 } as const;

/** Where the middle of the wheel is. */
const CENTRE = { x: 165, y: 119 } as const;

/** A point of the picture. */
export type RadarPoint = { readonly x: number; readonly y: number };

/** Tenths of a unit are finer than any screen shows. */
const rounded = (value: number): number => Math.round(value * 10) / 10;

/**
 * The point on axis `index` of `count` whose distance from the middle is `share` of the radius. The
 * first axis leads up, the others follow clockwise.
 */
export function radarPoint(index: number, count: number, share: number): RadarPoint {
  const angle = (2 * Math.PI * index) / count - Math.PI / 2;
  const distance = RADAR_SIZE.radius * share;
  return {
    x: rounded(CENTRE.x + distance * Math.cos(angle)),
    y: rounded(CENTRE.y + distance * Math.sin(angle)),
  };
}

/**
 * The corners of the shape that `values` have on `count` axes; a missing value counts as 0. Set-points
 * may be somewhat outside of 0 to 1 (model 1): they are drawn at the nearer end.
 */
export function radarCorners(values: readonly number[], count: number): RadarPoint[] {
  return Array.from({ length: count }, (_, index) =>
    radarPoint(index, count, Math.min(1, Math.max(0, values[index] ?? 0))),
  );
}

/** Corners as the `points` of an SVG polygon. */
export function pointsText(corners: readonly RadarPoint[]): string {
  return corners.map(({ x, y }) => `${x},${y}`).join(' ');
}
