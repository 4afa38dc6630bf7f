import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type ChartPoint, LINES, xRangeOf } from '#pages/instance/lines';
import { makePlot, type Plot, type PlotMarks } from '#pages/instance/plot';
import { levelText, localTime, numberText } from '#pages/parts/format';
import { onColours } from '#pages/shell/theme';
import { type DriftMark, DriftMarks } from '#view/instance/deviation';
import { PointsTable } from '#view/instance/points-table';
import { DriftBadge, StressBadge } from '#view/parts/levels';

type LineChartProps = {
  readonly points: readonly ChartPoint[];
  readonly marks: readonly DriftMark[];
  /** X value of the selected mark. */
  readonly chosen: number | undefined;
  readonly onMark: (x: number) => void;
  /** Unit of the x axis, for example "Step". */
  readonly unit: string;
  /** Text alternative of the chart. */
  readonly label: string;
};

/**
 * Line chart of modes, energy and stability, with stress as the background. Below the chart are
 * drift marks and a data table.
 */
export function LineChart({ points, marks, chosen, onMark, unit, label }: LineChartProps) {
  const { canvas, plot, width, pointed } = usePlot(points, NO_MARKS);
  const newest = points[pointed ?? points.length - 1] ?? points.at(-1);
  return (
    <figure class="line-chart">
      <div ref={canvas} class="line-chart-canvas" role="img" aria-label={label} />
      <DriftMarks {...{ marks, chosen, width, unit }} range={xRangeOf(points)} onChoose={onMark} />
      <figcaption>
        <Readout of={newest} unit={unit} />
        <LineChoice of={newest} plot={plot} />
        <PointsTable points={points} unit={unit} label={label} />
      </figcaption>
    </figure>
  );
}

/** No marks besides the lines. */
export const NO_MARKS: PlotMarks = {};

/** Checkboxes that hide lines, with the values of a point. */
export function LineChoice({
  of,
  plot,
}: {
  readonly of: ChartPoint | undefined;
  readonly plot: { readonly current: Plot | undefined };
}) {
  const [hidden, setHidden] = useState<ReadonlySet<number>>(new Set());
  const toggle = (line: number) => {
    const isHidden = hidden.has(line);
    plot.current?.setShown(line, isHidden);
    const next = new Set(hidden);
    if (isHidden) next.delete(line);
    else next.add(line);
    setHidden(next);
  };
  return (
    <fieldset class="lines">
      <legend class="unseen">Lines</legend>
      {LINES.map(({ name, style, levelOf }, index) => (
        <label key={style} class={`line ${style}`}>
          <input type="checkbox" checked={!hidden.has(index)} onChange={() => toggle(index)} />
          <span class="line-name">{name}</span>
          <span class="line-value">{of === undefined ? '–' : levelText(levelOf(of.report))}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** Position and state of the point whose values the legend shows. */
export function Readout({
  of,
  unit,
}: {
  readonly of: ChartPoint | undefined;
  readonly unit: string;
}) {
  if (of === undefined) return <p class="quiet">No state yet.</p>;
  const { x, at, report } = of;
  return (
    <p class="quiet">
      {unit} {numberText(x)}
      {at === undefined ? '' : `, ${localTime(at, 'second')}`} · stress{' '}
      <StressBadge value={report.snapshot.stress_state} /> · drift{' '}
      <DriftBadge value={report.drift.level} />
    </p>
  );
}

/**
 * Creates a plot in an element. The plot follows the element's width and the color scheme. `pointed`
 * is the index of the point below the pointer.
 */
export function usePlot(points: readonly ChartPoint[], marks: PlotMarks, heightPx?: number) {
  const canvas = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | undefined>(undefined);
  const [pointed, setPointed] = useState<number | undefined>();
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    const made = makePlot(element, setPointed, heightPx);
    plot.current = made;
    made.show(points, marks);
    const sizes = new ResizeObserver(() => {
      made.resize(element.clientWidth);
      if (element.clientWidth > 0) setWidth(element.clientWidth);
    });
    sizes.observe(element);
    const stop = onColours(() => made.recolour());
    return () => {
      stop();
      sizes.disconnect();
      made[Symbol.dispose]();
      plot.current = undefined;
    };
  }, []);
  useLayoutEffect(() => plot.current?.show(points, marks), [points, marks]);
  return { canvas, width, plot, pointed };
}
