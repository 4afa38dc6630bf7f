import { normalizeProps, useMachine } from '@zag-js/preact';
import * as toast from '@zag-js/toast';
import { useId } from 'preact/hooks';

/** Time that a message stays, in milliseconds. Hovering or focusing the message keeps it. */
const SHOWN_MS = 8_000;

/** Messages on screen at once. Further messages wait. */
const SHOWN_MAX = 4;

const store = toast.createStore({ placement: 'bottom-end', overlap: false, max: SHOWN_MAX });

/** Options of a message. */
type MessageOptions = {
  /** Button that takes the action back. The message disappears when the button is used. */
  readonly undo?: () => void;
};

/**
 * Shows a message about a finished action, and announces the message to screen readers. The
 * message survives a change of the page.
 */
export function showMessage(text: string, { undo }: MessageOptions = {}): void {
  store.create({
    title: text,
    type: 'info',
    duration: SHOWN_MS,
    ...(undo === undefined ? {} : { action: { label: 'Undo', onClick: undo } }),
  });
}

/** All messages on screen. */
export function Toasts() {
  const service = useMachine(toast.group.machine, { id: useId(), store });
  const group = toast.group.connect(service, normalizeProps);
  return (
    <div {...group.getGroupProps()} class="toasts">
      {group.getToasts().map((options, index) => (
        <Toast key={options.id} {...{ options, index, parent: service }} />
      ))}
    </div>
  );
}

/** The library's options do not distinguish absent from undefined. */
type Defined<Options> = { [Name in keyof Options]: Exclude<Options[Name], undefined> };

function Toast({
  options,
  index,
  parent,
}: {
  readonly options: toast.Options;
  readonly index: number;
  readonly parent: toast.GroupService;
}) {
  const props = { ...options, parent, index } as Defined<toast.Props>;
  const service = useMachine(toast.machine, props);
  const one = toast.connect(service, normalizeProps);
  return (
    <div {...one.getRootProps()} class="toast">
      <p {...one.getTitleProps()}>{one.title}</p>
      {options.action === undefined ? null : (
        <button {...one.getActionTriggerProps()} type="button" class="is-small">
          {options.action.label}
        </button>
      )}
      <button {...one.getCloseTriggerProps()} type="button" class="is-small" aria-label="Dismiss">
        ×
      </button>
    </div>
  );
}
