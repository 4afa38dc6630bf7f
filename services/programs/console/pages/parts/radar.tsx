import type { ModeStrengths } from '#clients/typescript/src/models';
import { MODES } from '#pages/instance/modes';
import { levelText } from '#pages/parts/format';
import {
  pointsText,
  RADAR_SIZE,
  type RadarPoint,
  radarCorners,
  radarPoint,
} from '#pages/parts/radar-shape';

/** Kind of a series. Each kind has its own color and dash pattern. */
type RadarKind = 'now' | 'set-point' | 'stable' | 'persona' | 'first' | 'second';

/** One shape: a value from 0 to 1 for each axis, in order. */
type RadarSeries = {
  readonly name: string;
  readonly values: readonly number[];
  readonly kind: RadarKind;
};

/** Radii of the grid rings, relative to the wheel. */
const RINGS = [0.25, 0.5, 0.75, 1] as const;

/** Distance of axis names from the center, relative to the radius. */
const NAME_DISTANCE = 1.12;

/** Line height for axis names, in picture units. */
const LINE_HEIGHT = 15;

/** Series key. Two series may have the same name. */
const keyOf = ({ kind, name }: RadarSeries): string => `${kind} ${name}`;

/**
 * Radar chart for several series, with a legend and an expandable value table. `label` is the text
 * alternative.
 */
export function Radar({
  axes,
  series,
  label,
}: {
  readonly axes: readonly string[];
  readonly series: readonly RadarSeries[];
  readonly label: string;
}) {
  return (
    <figure class="radar">
      <svg
        class="radar-wheel"
        viewBox={`0 0 ${RADAR_SIZE.width} ${RADAR_SIZE.height}`}
        role="img"
        aria-label={label}
      >
        <Wheel axes={axes} />
        {series.map((one) => (
          <Shape key={keyOf(one)} of={one} count={axes.length} />
        ))}
      </svg>
      <figcaption>
        <ul class="legend">
          {series.map((one) => (
            <li key={keyOf(one)}>
              <svg class={`radar-line is-${one.kind}`} viewBox="0 0 32 8" aria-hidden="true">
                <line x1="0" y1="4" x2="32" y2="4" />
              </svg>
              {one.name}
            </li>
          ))}
        </ul>
        <details>
          <summary>Show the numbers</summary>
          <Twin axes={axes} series={series} label={label} />
        </details>
      </figcaption>
    </figure>
  );
}

function Wheel({ axes }: { readonly axes: readonly string[] }) {
  const middle = radarPoint(0, axes.length, 0);
  const ring = (share: number) =>
    pointsText(axes.map((_, index) => radarPoint(index, axes.length, share)));
  return (
    <g class="radar-grid">
      {RINGS.map((share) => (
        <polygon key={share} points={ring(share)} />
      ))}
      {axes.map((name, index) => {
        const end = radarPoint(index, axes.length, 1);
        const at = radarPoint(index, axes.length, NAME_DISTANCE);
        return (
          <g key={name}>
            <line x1={middle.x} y1={middle.y} x2={end.x} y2={end.y} />
            <AxisName name={name} at={at} />
          </g>
        );
      })}
    </g>
  );
}

/** Axis name with one word per line, centered on its point. */
function AxisName({ name, at }: { readonly name: string; readonly at: RadarPoint }) {
  const words = name.split(' ');
  const top = at.y - ((words.length - 1) * LINE_HEIGHT) / 2;
  return (
    <text text-anchor={anchorOf(at.x)} dominant-baseline="middle">
      {words.map((word, line) => (
        <tspan key={word} x={at.x} y={top + line * LINE_HEIGHT}>
          {word}
        </tspan>
      ))}
    </text>
  );
}

/**
 * Text anchor. Names to the right start at their point, names to the left end there, and others are
 * centered.
 */
function anchorOf(x: number): 'start' | 'middle' | 'end' {
  const side = x - RADAR_SIZE.width / 2;
  return Math.abs(side) < 1 ? 'middle' : side > 0 ? 'start' : 'end';
}

/** Outline with a dot at each corner. If all values are 0, only the dots are visible. */
function Shape({
  of: { values, kind },
  count,
}: {
  readonly of: RadarSeries;
  readonly count: number;
}) {
  const corners = radarCorners(values, count);
  return (
    <g class={`radar-line is-${kind}`}>
      <polygon points={pointsText(corners)} />
      <path d={corners.map(({ x, y }) => `M${x},${y}h0`).join('')} />
    </g>
  );
}

function Twin({
  axes,
  series,
  label,
}: {
  readonly axes: readonly string[];
  readonly series: readonly RadarSeries[];
  readonly label: string;
}) {
  return (
    <table class="rows is-plain">
      <caption class="unseen">{label}</caption>
      <thead>
        <tr>
          <th scope="col">Mode</th>
          {series.map((one) => (
            <th key={keyOf(one)} scope="col" class="is-number">
              {one.name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {axes.map((axis, at) => (
          <tr key={axis}>
            <th scope="row">{axis}</th>
            {series.map((one) => (
              <td key={keyOf(one)} data-label={one.name} class="is-number">
                {levelText(one.values[at] ?? 0)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Bars of the seven mode strengths, with names and values. */
export function ModeBars({ strengths }: { readonly strengths: ModeStrengths }) {
  return (
    <ul class="mode-bars">
      {MODES.map(([key, name]) => (
        <li key={key}>
          <span>{name}</span>
          <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
            <rect class="bar-track" width="100" height="6" />
            <rect class="bar-fill" width={100 * strengths[key]} height="6" />
          </svg>
          <span class="is-value">{levelText(strengths[key])}</span>
        </li>
      ))}
    </ul>
  );
}
