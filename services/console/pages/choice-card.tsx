import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

/** One of several choices as a card: a radio button with its name, what it means, and more to look at. */
export function ChoiceCard({
  name,
  value,
  title,
  isFirst = false,
  text,
  children,
}: {
  /** The field that the choices are of. */
  readonly name: string;
  readonly value: string;
  readonly title: string;
  /** Chosen as long as no other one is. */
  readonly isFirst?: boolean;
  readonly text: ComponentChildren;
  readonly children?: ComponentChildren;
}) {
  const id = useId();
  return (
    <label class="choice">
      <span class="choice-head">
        <input
          {...{ type: 'radio', name, value, defaultChecked: isFirst }}
          aria-labelledby={`${id}-title`}
          aria-describedby={`${id}-text`}
        />
        <strong id={`${id}-title`}>{title}</strong>
      </span>
      <span class="quiet" id={`${id}-text`}>
        {text}
      </span>
      {children}
    </label>
  );
}
