import uPlot from 'uplot';
import { type ChartPoint, columnsOf, LINES, stressBandOf, xRangeOf } from '#pages/instance/lines';

/**
 * Width of the space to the left of the plot, in pixels. The drift marks below the chart use the
 * same offset.
 */
export const PLOT_LEFT_PX = 52;
/** Width of the space to the right of the plot, in pixels. */
export const PLOT_RIGHT_PX = 14;

/** Usual height of a chart, in pixels. */
const HEIGHT_PX = 280;

/** A chart in the document. Disposing the object removes the chart. */
export type Plot = Disposable & {
  readonly show: (points: readonly ChartPoint[]) => void;
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
  const colours = coloursIn(into);
  const plot = new uPlot(
    {
      ...{ width: Math.max(into.clientWidth, 200), height: heightPx },
      padding: [12, PLOT_RIGHT_PX, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: {
        x: { time: false, range: () => [...xRangeOf(points)] },
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
        setCursor: [({ cursor: { idx } }) => onPoint(idx ?? undefined)],
      },
    },
    columnsOf(points),
    into,
  );
  return {
    show(next) {
      points = next;
      plot.setData(columnsOf(next));
    },
    setShown: (line, show) => plot.setSeries(line + 1, { show }),
    resize: (width) => plot.setSize({ width, height: heightPx }),
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
  for (const { from, to, state } of stressBandOf(points)) {
    const left = plot.valToPos(from, 'x', true);
    const width = plot.valToPos(to, 'x', true) - left;
    ctx.fillStyle = colours.of(`is-stress-${state}`);
    ctx.fillRect(left, bbox.top, width, bbox.height);
  }
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
