import uPlot from 'uplot';
import { type ChartPoint, columnsOf, LINES, stressBandOf, xRangeOf } from '#pages/instance/lines';
import type { Range } from '#pages/instance/zoom';

/**
 * Width of the space to the left of the plot, in pixels. The drift marks below the chart use the
 * same offset.
 */
export const PLOT_LEFT_PX = 52;
/** Width of the space to the right of the plot, in pixels. */
export const PLOT_RIGHT_PX = 14;

/** Usual height of a chart, in pixels. */
const HEIGHT_PX = 280;

/** Observation on the x axis: a line at the bottom, in the color of its mode. */
type ObservationMark = {
  readonly x: number;
  /** Class of the mode. */
  readonly style: string;
  /** Strength from 0 to 1. */
  readonly signal: number;
};

/** Content of a chart besides its lines. */
export type PlotMarks = {
  /** Visible part of the x axis. Default: all points. */
  readonly range?: Range | undefined;
  readonly observations?: readonly ObservationMark[];
  /** X values of vertical lines: solid for selected states, dashed for resets. */
  readonly selected?: readonly number[];
  readonly resets?: readonly number[];
};

/** A chart in the document. Disposing the object removes the chart. */
export type Plot = Disposable & {
  readonly show: (points: readonly ChartPoint[], marks?: PlotMarks) => void;
  /** X value at a horizontal position in the window, in pixels. */
  readonly xAt: (clientX: number) => number;
  /** Width of a unit of the x axis, in pixels. */
  readonly unitPx: () => number;
  readonly setShown: (line: number, isShown: boolean) => void;
  readonly resize: (widthPx: number) => void;
  /** Redraws in the stylesheet's present colors. */
  readonly recolour: () => void;
};

/**
 * Creates a line chart in an element, with the stress band as the background. The classes of
 * `LINES` select the colors in the stylesheet. Calls `onPoint` with the index of the point below
 * the pointer, or with undefined.
 */
export function makePlot(
  into: HTMLElement,
  onPoint: (index: number | undefined) => void,
  heightPx = HEIGHT_PX,
): Plot {
  let points: readonly ChartPoint[] = [];
  let marks: PlotMarks = {};
  const colours = coloursIn(into);
  const plot = new uPlot(
    {
      ...{ width: Math.max(into.clientWidth, 200), height: heightPx },
      padding: [12, PLOT_RIGHT_PX, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: {
        x: { time: false, range: () => [...(marks.range ?? xRangeOf(points))] },
        y: { range: [0, 1] },
      },
      axes: [
        { ...axis(colours), size: 30, incrs: WHOLE_STEPS },
        { ...axis(colours), size: PLOT_LEFT_PX, values: (_, ticks) => ticks.map(percent) },
      ],
      series: [
        {},
        ...LINES.map(({ style, dash }) => ({
          ...{ stroke: () => colours.of(style), width: 2, dash: [...dash] },
          points: { size: 5 },
        })),
      ],
      hooks: {
        drawClear: [(self) => drawStressBand(self, points, colours)],
        draw: [(self) => drawMarks(self, marks, colours)],
        setCursor: [({ cursor: { idx } }) => onPoint(idx ?? undefined)],
      },
    },
    columnsOf(points),
    into,
  );
  return {
    show(next, more = {}) {
      points = next;
      marks = more;
      plot.setData(columnsOf(next));
    },
    xAt: (clientX) => plot.posToVal(clientX - plot.over.getBoundingClientRect().left, 'x'),
    unitPx: () => plot.valToPos(1, 'x') - plot.valToPos(0, 'x'),
    setShown: (line, show) => plot.setSeries(line + 1, { show }),
    resize(width) {
      // A hidden chart has no width, and keeps its size.
      if (width > 0) plot.setSize({ width, height: heightPx });
    },
    recolour() {
      colours.forget();
      plot.redraw(false);
    },
    [Symbol.dispose]: () => plot.destroy(),
  };
}

/**
 * Possible distances between ticks. They are whole numbers, because the axis counts observations.
 */
const WHOLE_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

const percent = (share: number): string => `${Math.round(share * 100)} %`;

function axis(colours: Colours): uPlot.Axis {
  const line = { stroke: () => colours.of('is-grid'), width: 1 };
  return { stroke: () => colours.of('is-text'), grid: line, ticks: line, font: '12px sans-serif' };
}

function drawStressBand(plot: uPlot, points: readonly ChartPoint[], colours: Colours): void {
  const { ctx, bbox } = plot;
  clipped(plot, () => {
    for (const { from, to, state } of stressBandOf(points)) {
      const left = plot.valToPos(from, 'x', true);
      const width = plot.valToPos(to, 'x', true) - left;
      ctx.fillStyle = colours.of(`is-stress-${state}`);
      ctx.fillRect(left, bbox.top, width, bbox.height);
    }
  });
}

/** Maximum height of the line of an observation, as a share of the chart. */
const OBSERVATION_SHARE = 0.1;

function drawMarks(plot: uPlot, marks: PlotMarks, colours: Colours): void {
  const { ctx, bbox } = plot;
  const { observations = [], selected = [], resets = [] } = marks;
  const ratio = uPlot.pxRatio;
  const bottom = bbox.top + bbox.height;
  const vertical = (x: number, style: string, dash: number[]) => {
    ctx.strokeStyle = colours.of(style);
    ctx.lineWidth = 1.5 * ratio;
    ctx.setLineDash(dash.map((length) => length * ratio));
    ctx.beginPath();
    ctx.moveTo(plot.valToPos(x, 'x', true), bbox.top);
    ctx.lineTo(plot.valToPos(x, 'x', true), bottom);
    ctx.stroke();
  };
  clipped(plot, () => {
    for (const { x, style, signal } of observations) {
      const height = Math.max(0.2, signal) * OBSERVATION_SHARE * bbox.height;
      ctx.fillStyle = colours.of(style);
      ctx.fillRect(plot.valToPos(x, 'x', true) - ratio, bottom - height, 2 * ratio, height);
    }
    for (const x of resets) vertical(x, 'is-text', [2, 4]);
    for (const x of selected) vertical(x, 'is-selected', []);
  });
}

/** Draws inside the area of the lines only. */
function clipped({ ctx, bbox }: uPlot, draw: () => void): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  draw();
  ctx.restore();
}

/** Resolved CSS colors by class, for use on a canvas. Cached until `forget`. */
type Colours = { readonly of: (style: string) => string; readonly forget: () => void };

function coloursIn(element: HTMLElement): Colours {
  const known = new Map<string, string>();
  const read = (style: string): string => {
    const probe = document.createElement('i');
    probe.className = `line ${style}`;
    element.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };
  return {
    of(style) {
      const colour = known.get(style) ?? read(style);
      known.set(style, colour);
      return colour;
    },
    forget: () => known.clear(),
  };
}
