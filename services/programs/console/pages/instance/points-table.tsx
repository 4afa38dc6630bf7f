import { useState } from 'preact/hooks';
import { type ChartPoint, LINES } from '#pages/instance/lines';
import { levelText, numberText } from '#pages/parts/format';
import { TimeText } from '#view/parts/text';

/** Maximum number of rows in the table of a chart's points. */
const ROWS_MAX = 50;

type PointsTableProps = {
  readonly points: readonly ChartPoint[];
  readonly unit: string;
  readonly label: string;
};

/** Expandable table of a chart's points, newest first. */
export function PointsTable({ points, unit, label }: PointsTableProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Show the numbers</summary>
      {isOpen ? <Rows {...{ points, unit, label }} /> : null}
    </details>
  );
}

function Rows({ points, unit, label }: PointsTableProps) {
  const shown = points.slice(-ROWS_MAX).toReversed();
  return (
    <>
      {points.length > ROWS_MAX ? (
        <p class="quiet">
          The newest {ROWS_MAX} of {numberText(points.length)} states.
        </p>
      ) : null}
      <table class="rows is-plain">
        <caption class="unseen">{label}</caption>
        <thead>
          <tr>
            <th scope="col">{unit}</th>
            {LINES.map(({ name }) => (
              <th key={name} scope="col" class="is-number">
                {name}
              </th>
            ))}
            <th scope="col">Stress</th>
            <th scope="col">Drift</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ x, at, report }, index) => (
            // After a reset, two states can have the same observation.
            <tr key={`${x} ${report.snapshot.cycle} ${index}`}>
              <th scope="row">
                {numberText(x)}
                {at === undefined ? null : (
                  <span class="row-more">
                    <TimeText at={at} precision="second" />
                  </span>
                )}
              </th>
              {LINES.map(({ name, levelOf }) => (
                <td key={name} data-label={name} class="is-number">
                  {levelText(levelOf(report))}
                </td>
              ))}
              <td data-label="Stress">{report.snapshot.stress_state}</td>
              <td data-label="Drift">{report.drift.level}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
