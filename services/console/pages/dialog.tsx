import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import type { Refused } from '#pages/api';
import { submitted, type Values } from '#view/field';
import { RefusalNotice } from '#view/notice';

type DialogProps = {
  readonly title: string;
  readonly onClose: () => void;
  /** Escape does not close it: what it shows is shown only once. */
  readonly isFirm?: boolean;
  readonly children: ComponentChildren;
};

/** A modal dialog, open for as long as it is there; the focus goes back to where it was. */
export function Dialog({ title, onClose, isFirm = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOver = useRef(false);
  const titleId = useId();
  useLayoutEffect(() => {
    const shown = dialog.current;
    const before = document.activeElement;
    shown?.showModal();
    return () => {
      // The event of this comes later, when another dialog may have taken its place.
      isOver.current = true;
      shown?.close();
      if (before instanceof HTMLElement) before.focus();
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
  /** Names of the fields, which show themselves what is wrong with them. */
  readonly fields?: readonly string[];
  readonly onSubmit: (values: Values) => void;
};

/** A dialog that asks for something: fields, why they were refused, and two buttons. */
export function FormDialog(props: FormDialogProps) {
  const { title, onClose, submit, isDangerous = false, isDisabled = false, isBusy } = props;
  const { refusal, fields = [], onSubmit, children } = props;
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submitted(onSubmit)}>
        {children}
        <RefusalNotice refusal={refusal} fields={fields} />
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            class={isDangerous ? 'is-danger' : 'is-main'}
            disabled={isDisabled || isBusy}
          >
            {isBusy ? 'One moment …' : submit}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
