import { useState } from 'preact/hooks';
import { localTime, type Precision, utcTime } from '#pages/parts/format';

/** Time in the viewer's zone, with UTC on hover. */
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

/** Button that copies a value to the clipboard and shows whether copying worked. */
export function CopyButton({
  value,
  what,
}: {
  readonly value: string;
  /** Description of the value for the label: "the id of Ada". */
  readonly what: string;
}) {
  const [outcome, setOutcome] = useState('');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(value);
      setOutcome('Copied');
    } catch {
      setOutcome('Not copied');
    }
  };
  const text = outcome === '' ? 'Copy' : outcome;
  return (
    <>
      <button
        type="button"
        class="is-tiny"
        aria-label={`${text} ${what}`}
        onClick={() => void copy()}
      >
        {text}
      </button>
      <span class="unseen" role="status">
        {outcome}
      </span>
    </>
  );
}
