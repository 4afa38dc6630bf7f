import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { levelText, localTime, numberText } from '#pages/format';
import { type ChartPoint, LINES, xRangeOf } from '#pages/instance/lines';
import { makePlot, type Plot } from '#pages/instance/plot';
import { type DriftMark, DriftMarks } from '#view/instance/drift-marks';
import { PointsTable } from '#view/instance/points-table';

type LineChartProps = {
  readonly points: readonly ChartPoint[];
  readonly marks: readonly DriftMark[];
  /** The mark whose drift is shown, by its x. */
  readonly chosen: number | undefined;
  readonly onMark: (x: number) => void;
  /** What x counts: "Observation". */
  readonly unit: string;
  /** What the picture shows, for those who do not see it. */
  readonly label: string;
};

/** Modes, energy and stability as lines over the stress band, with drift marks and a table of the same. */
export function LineChart({ points, marks, chosen, onMark, unit, label }: LineChartProps) {
  const { canvas, plot, width } = usePlot(points);
  const [hidden, setHidden] = useState<ReadonlySet<number>>(new Set());
  const toggle = (line: number) => {
    const isHidden = hidden.has(line);
    plot.current?.setShown(line, isHidden);
    const next = new Set(hidden);
    if (isHidden) next.delete(line);
    else next.add(line);
    setHidden(next);
  };
  const newest = points[plot.pointed ?? points.length - 1] ?? points.at(-1);
  return (
    <figure class="line-chart">
      <div ref={canvas} class="line-chart-canvas" role="img" aria-label={label} />
      <DriftMarks
        {...{ marks, chosen, width }}
        range={xRangeOf(points)}
        unit={unit}
        onChoose={onMark}
      />
      <figcaption>
        <Readout of={newest} unit={unit} />
        <fieldset class="lines">
          <legend class="unseen">Lines</legend>
          {LINES.map(({ name, style, levelOf }, index) => (
            <label key={style} class={`line ${style}`}>
              <input type="checkbox" checked={!hidden.has(index)} onChange={() => toggle(index)} />
              <span class="line-name">{name}</span>
              <span class="line-value">
                {newest === undefined ? '–' : levelText(levelOf(newest.report))}
              </span>
            </label>
          ))}
        </fieldset>
        <PointsTable points={points} unit={unit} label={label} />
      </figcaption>
    </figure>
  );
}

/** Which point the values below the chart are of. */
function Readout({ of, unit }: { readonly of: ChartPoint | undefined; readonly unit: string }) {
  if (of === undefined) return <p class="quiet">No state yet.</p>;
  const { x, at, report } = of;
  return (
    <p class="quiet">
      {unit} {numberText(x)}
      {at === undefined ? '' : `, ${localTime(at, 'second')}`} · stress{' '}
      {report.snapshot.stress_state} · drift {report.drift.level}
    </p>
  );
}

type Current = { current: Plot | undefined; pointed: number | undefined };

/** A plot in an element, as wide as that, in the colours of the scheme. */
function usePlot(points: readonly ChartPoint[]) {
  const canvas = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | undefined>(undefined);
  const [pointed, setPointed] = useState<number | undefined>();
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    const made = makePlot(element, setPointed);
    plot.current = made;
    made.show(points);
    const sizes = new ResizeObserver(() => {
      made.resize(element.clientWidth);
      setWidth(element.clientWidth);
    });
    sizes.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const recolour = () => made.recolour();
    scheme.addEventListener('change', recolour);
    return () => {
      scheme.removeEventListener('change', recolour);
      sizes.disconnect();
      made[Symbol.dispose]();
      plot.current = undefined;
    };
  }, []);
  useLayoutEffect(() => plot.current?.show(points), [points]);
  const current: Current = { current: plot.current, pointed };
  return { canvas, width, plot: current };
}
