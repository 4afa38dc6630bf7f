import { localTime, type Precision, utcTime } from '#pages/format';

/** A time in the viewer's zone, with UTC on hover. */
export function TimeText({
  at,
  precision = 'minute',
}: {
  readonly at: string;
  readonly precision?: Precision;
}) {
  return (
    <time dateTime={at} title={utcTime(at)}>
      {localTime(at, precision)}
    </time>
  );
}
