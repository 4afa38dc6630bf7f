/** Picture size and wheel radius, in picture units. The margins hold the axis names. */
export const RADAR_SIZE = { width: 330, height: 230, radius: 90 } as const;

/** Wheel center. */
const CENTRE = { x: 165, y: 119 } as const;

/** A point of the picture. */
export type RadarPoint = { readonly x: number; readonly y: number };

/** Rounds to a tenth of a unit, finer than a screen can show. */
const rounded = (value: number): number => Math.round(value * 10) / 10;

/**
 * Point on axis `index` of `count`, at `share` of the radius from the center. The first axis points
 * up, and the others follow clockwise.
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
 * Corners of the shape for `values` on `count` axes. A missing value is drawn as 0. Values are
 * clamped to 0 to 1, because set-points can be slightly outside this range (model 1).
 */
export function radarCorners(values: readonly number[], count: number): RadarPoint[] {
  return Array.from({ length: count }, (_, index) =>
    radarPoint(index, count, Math.min(1, Math.max(0, values[index] ?? 0))),
  );
}

/** Formats corners as the `points` of an SVG polygon. */
export function pointsText(corners: readonly RadarPoint[]): string {
  return corners.map(({ x, y }) => `${x},${y}`).join(' ');
}
