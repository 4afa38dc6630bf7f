import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Refused } from '#pages/shell/api';
import { focusNear } from '#pages/shell/focus';
import { FormName } from '#pages/shell/kept-texts';
import { SubmitButton, submitted, TextField, type Values } from '#view/parts/field';
import { RefusalNotice } from '#view/parts/notice';

type DialogProps = {
  readonly title: string;
  readonly onClose: () => void;
  /** If true, Escape does not close the dialog, because its content is shown only once. */
  readonly isFirm?: boolean;
  readonly children: ComponentChildren;
};

/**
 * Modal dialog, open while mounted. When the dialog closes, the focus returns to the previous
 * element, or to the nearest place that still exists (`shell/focus`).
 */
export function Dialog({ title, onClose, isFirm = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOver = useRef(false);
  const titleId = useId();
  useLayoutEffect(() => {
    const shown = dialog.current;
    const before = document.activeElement;
    shown?.showModal();
    return () => {
      // The close event arrives later, when another dialog may be open.
      isOver.current = true;
      shown?.close();
      // The action may have removed the button that opened the dialog.
      if (before !== null && before !== document.body) focusNear(before);
    };
  }, []);
  const cancel = (event: Event) => {
    event.preventDefault();
    if (!isFirm) onClose();
  };
  const closed = () => {
    if (!isOver.current) onClose();
  };
  return (
    <dialog ref={dialog} aria-labelledby={titleId} onCancel={cancel} onClose={closed}>
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  );
}

type FormDialogProps = Omit<DialogProps, 'isFirm'> & {
  readonly submit: string;
  readonly isDangerous?: boolean;
  readonly isDisabled?: boolean;
  readonly isBusy: boolean;
  readonly refusal: Refused | undefined;
  /** Names of fields that show their own errors. */
  readonly fields?: readonly string[];
  readonly onSubmit: (values: Values) => void;
};

/** Dialog with a form: fields, refusal, and two buttons. */
export function FormDialog(props: FormDialogProps) {
  const { title, onClose, submit, isDangerous = false, isDisabled = false, isBusy } = props;
  const { refusal, fields = [], onSubmit, children } = props;
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submitted(onSubmit)}>
        <FormName.Provider value={title}>{children}</FormName.Provider>
        <RefusalNotice refusal={refusal} fields={fields} />
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <SubmitButton {...{ isBusy, isDisabled, isDangerous }}>{submit}</SubmitButton>
        </div>
      </form>
    </Dialog>
  );
}

/** Asks the user to type a name, to prevent irreversible actions by mistake. */
export function TypedName({
  label,
  name,
  onTyped,
}: {
  readonly label: string;
  readonly name: string;
  readonly onTyped: (text: string) => void;
}) {
  return (
    <div onInput={(event) => onTyped((event.target as HTMLInputElement).value)}>
      <TextField
        {...{ name: 'confirmation', label, hint: <code>{name}</code>, isKept: false }}
        hasFocus
      />
    </div>
  );
}

type ShownOnceProps = {
  readonly title: string;
  /** Kind of value for the label, for example "API key". */
  readonly label: string;
  readonly value: string;
  /** Label of the closing button. */
  readonly done: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
};

/**
 * Shows a value once, until the user confirms that it is stored. The value exists only in this
 * component and one element, and both disappear with the dialog.
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
      setCopied('The browser does not allow copying. The text is selected: press Ctrl+C or ⌘C.');
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
