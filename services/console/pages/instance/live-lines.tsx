import { useMemo, useState } from 'preact/hooks';
import { counted } from '#pages/format';
import type { InstanceView } from '#pages/instance/live-instance';
import { DeviationPart } from '#view/instance/deviation-part';
import { LineChart } from '#view/instance/line-chart';

/** How many observations the chart goes back. */
const REACHES = [60, 200, 2_000] as const;

/** Modes, energy and stability since the page was opened, with the drift of a chosen mark or of now. */
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
        page was opened. The service keeps observations, not the states between them, so lines begin
        with this page. Behind the lines: stress{' '}
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
