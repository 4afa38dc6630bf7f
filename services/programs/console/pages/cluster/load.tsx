import { durationText } from '#pages/cluster/alerts';
import type { LoadReport } from '#pages/cluster/answers';
import { counted, numberText } from '#pages/parts/format';
import { TableHead } from '#view/parts/table-head';

const MIB = 1_024 * 1_024;

/** Formats bytes as KiB or MiB. */
export function bytesText(bytes: number): string {
  return bytes < MIB
    ? `${numberText(Math.ceil(bytes / 1_024))} KiB`
    : `${(bytes / MIB).toFixed(1)} MiB`;
}

/** Formats calls per second. A rate needs two samples, so the first report has no rate. */
export function rateText(rate: number | null): string {
  return rate === null ? 'not known yet' : `${numberText(Math.round(rate * 10) / 10)} /s`;
}

/** Formats the number of unstored records and the oldest record's age. */
export function unstoredText({ unstored_records: records, oldest_unstored_s: oldest }: LoadReport) {
  if (records === 0) return 'none';
  return `${counted(records, 'record')}${oldest === null ? '' : `, oldest ${durationText(oldest)}`}`;
}

/** Load table of one process, with a row for each part of the process. */
export function LoadTable({
  loads,
}: {
  readonly loads: readonly (readonly [string, LoadReport])[];
}) {
  return (
    <table class="rows is-plain">
      <caption class="unseen">Contents of this process</caption>
      <TableHead names={['Part', 'In memory', 'Not stored', 'Calls']} />
      <tbody>
        {loads.map(([name, load]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td data-label="In memory">
              {counted(load.actors, name === 'Limiter' ? 'meter' : 'actor')},{' '}
              {bytesText(load.actor_bytes)}
            </td>
            <td data-label="Not stored">{unstoredText(load)}</td>
            <td data-label="Calls">{rateText(load.calls_per_s)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
