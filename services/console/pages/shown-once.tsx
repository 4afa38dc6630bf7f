import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Dialog } from '#view/dialog';

type ShownOnceProps = {
  readonly title: string;
  /** What the value is, for its label: "API key". */
  readonly label: string;
  readonly value: string;
  /** The button that closes it. */
  readonly done: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
};

/**
 * Shows a value that is never shown again, until it is said to be stored. It is in the properties of this
 * component and of one element, both of which go when the dialog closes.
 */
export function ShownOnce({ title, label, value, done, onClose, children }: ShownOnceProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [copied, setCopied] = useState('');
  const copy = async (): Promise<void> => {
    field.current?.select();
    try {
      await navigator.clipboard.writeText(value);
      setCopied('Copied.');
    } catch {
      setCopied('The browser does not let this page copy: the text is selected, copy it yourself.');
    }
  };
  return (
    <Dialog title={title} onClose={onClose} isFirm>
      {children}
      <div class="shown-once">
        <textarea
          ref={field}
          readOnly
          aria-label={label}
          value={value}
          rows={value.split('\n').length > 1 ? 10 : 2}
          spellcheck={false}
          onFocus={(event) => event.currentTarget.select()}
        />
        <button type="button" onClick={() => void copy()}>
          Copy
        </button>
      </div>
      <p class="hint" role="status">
        {copied}
      </p>
      <div class="dialog-buttons">
        <button type="button" class="is-main" onClick={onClose}>
          {done}
        </button>
      </div>
    </Dialog>
  );
}
