import { useState } from 'preact/hooks';

/** Copies a value to the clipboard, and says whether that worked. */
export function CopyButton({
  value,
  what,
}: {
  readonly value: string;
  /** What is copied, for its name: "the id of Ada". */
  readonly what: string;
}) {
  const [outcome, setOutcome] = useState('');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(value);
      setOutcome('Copied');
    } catch {
      setOutcome('The browser refused');
    }
  };
  return (
    <>
      <button type="button" class="is-tiny" aria-label={`Copy ${what}`} onClick={() => void copy()}>
        Copy
      </button>
      <span class="quiet copied" role="status">
        {outcome}
      </span>
    </>
  );
}
