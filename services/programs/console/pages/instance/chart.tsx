import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type ChartPoint, LINES, xRangeOf } from '#pages/instance/lines';
import type { InstanceView } from '#pages/instance/live';
import { makePlot, type Plot } from '#pages/instance/plot';
import { counted, levelText, localTime, numberText } from '#pages/parts/format';
import { onColours } from '#pages/shell/theme';
import { DeviationPart, type DriftMark, DriftMarks } from '#view/instance/deviation';
import { PointsTable } from '#view/instance/history';

type LineChartProps = {
  readonly points: readonly ChartPoint[];
  readonly marks: readonly DriftMark[];
  /** X value of the selected mark. */
  readonly chosen: number | undefined;
  readonly onMark: (x: number) => void;
  /** Unit of the x axis, for example "Observation". */
  readonly unit: string;
  /** Text alternative of the chart. */
  readonly label: string;
};

/**
 * Line chart of modes, energy and stability, with stress as the background. Below the chart are
 * drift marks and a data table.
 */
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

/** Position and state of the point whose values the legend shows. */
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

/** Creates a plot in an element. The plot follows the element's width and the color scheme. */
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
    const stop = onColours(() => made.recolour());
    return () => {
      stop();
      sizes.disconnect();
      made[Symbol.dispose]();
      plot.current = undefined;
    };
  }, []);
  useLayoutEffect(() => plot.current?.show(points), [points]);
  const current: Current = { current: plot.current, pointed };
  return { canvas, width, plot: current };
}

/** Choices for the number of observations in the chart. */
const REACHES = [60, 200, 2_000] as const;

/**
 * Live chart of the time since the page was opened. Also shows the drift of the selected mark, or
 * of the newest cycle if no mark is selected.
 */
export function LiveLines({ view }: { readonly view: InstanceView }) {
  const [reach, setReach] = useState<number>(REACHES[1]);
  const [chosen, setChosen] = useState<number | undefined>();
  const { points, marks } = useMemo(() => chartOf(view, reach), [view, reach]);
  const drifted = view.cycles.find(({ ordinal, drift }) => ordinal === chosen && drift !== null);
  return (
    <section class="card" aria-labelledby="lines">
      <div class="card-head">
        <h2 id="lines">Over time</h2>
        <label class="reach">
          Show the last{' '}
          <select
            value={String(reach)}
            onChange={(event) => setReach(Number(event.currentTarget.value))}
          >
            {REACHES.map((each) => (
              <option key={each} value={String(each)}>
                {counted(each, 'observation')}
              </option>
            ))}
          </select>
        </label>
      </div>
      <p class="quiet">
        {counted(view.stateCount, 'state')} and {counted(view.cycleCount, 'observation')} since this
        page was opened. The service stores observations but no intermediate states, so the lines
        start when the page is opened. Background: stress{' '}
        {['MED', 'HIGH', 'OVER'].map((state) => (
          <span key={state} class={`stress-key is-${state}`}>
            {state}
          </span>
        ))}
      </p>
      <LineChart
        {...{ points, marks, chosen }}
        unit="Observation"
        label="Modes, energy and stability by observation"
        onMark={(x) => setChosen(x === chosen ? undefined : x)}
      />
      <Drift view={view} drifted={drifted} />
    </section>
  );
}

function Drift({
  view,
  drifted,
}: {
  readonly view: InstanceView;
  readonly drifted: InstanceView['cycles'][number] | undefined;
}) {
  if (drifted?.drift) {
    const { drift_level: level, deviation, rolled_back: isRolledBack, timestamp } = drifted.drift;
    return (
      <DeviationPart
        {...{ level, deviation, isRolledBack, at: timestamp }}
        title={`Drift at observation ${drifted.ordinal}`}
      />
    );
  }
  if (view.now === undefined) return null;
  const { level, deviation } = view.now.drift;
  return (
    <DeviationPart
      {...{ level, deviation, isRolledBack: level === 'D3' }}
      title="Drift of the newest cycle"
    />
  );
}

function chartOf({ points, cycles }: InstanceView, reach: number) {
  const newest = Math.max(points.at(-1)?.ordinal ?? 0, cycles.at(-1)?.ordinal ?? 0);
  const shown = points
    .filter(({ ordinal }) => ordinal > newest - reach)
    .map(({ ordinal, at, report }) => ({ x: ordinal, at, report }));
  const from = shown[0]?.x ?? 0;
  const to = shown.at(-1)?.x ?? 0;
  const marks = cycles.flatMap(({ ordinal, drift }) =>
    drift === null || ordinal < from || ordinal > to
      ? []
      : [{ x: ordinal, level: drift.drift_level }],
  );
  return { points: shown, marks };
}
