import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { Refused } from '#pages/shell/api';
import { sentence } from '#view/parts/notice';

/** The texts of a form by the names of their fields. */
export type Values = Readonly<Record<string, string>>;

/** Has a form answer its texts instead of loading a page. */
export function submitted(act: (values: Values) => void) {
  return (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    act(textsIn(event.currentTarget));
  };
}

/** What the fields of a form say now. */
export function textsIn(form: HTMLFormElement): Values {
  const entries = [...new FormData(form)];
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

type FieldProps = {
  readonly name: string;
  readonly label: string;
  readonly hint?: ComponentChildren;
  /** The refusal of the form, shown here if it is about this field. */
  readonly refusal?: Refused | undefined;
};

type InputProps = FieldProps & {
  readonly type?: 'text' | 'email' | 'password' | 'datetime-local' | 'date' | 'number';
  /** Of numbers and times. */
  readonly min?: number;
  readonly max?: number;
  readonly step?: number | 'any';
  readonly value?: string;
  readonly autocomplete?: string;
  readonly inputMode?: 'numeric' | 'text';
  readonly isOptional?: boolean;
  /** It narrows a list down: it may be empty, which goes without saying. */
  readonly isFilter?: boolean;
  readonly maxLength?: number;
  readonly placeholder?: string;
  readonly hasFocus?: boolean;
  /** Lines of a text; one line without it. */
  readonly lines?: number;
};

/** A labelled text field with its hint and what is wrong with it. */
export function TextField(props: InputProps) {
  const { type = 'text', value = '', isOptional = false, isFilter = false, ...rest } = props;
  const { name, label, hint, refusal, autocomplete = 'off', hasFocus, lines, ...others } = rest;
  const required = !isOptional && !isFilter;
  const error = errorOf(name, refusal);
  return (
    <Labelled {...{ label, hint, error, isOptional }}>
      {(attributes) =>
        lines === undefined ? (
          <input
            {...{ ...attributes, name, autocomplete, ...others }}
            // Preact's types know which roles an input of each single type may have, not of several.
            type={type as 'text'}
            defaultValue={value}
            required={required}
            {...(hasFocus === true ? { ref: focusOnce } : {})}
          />
        ) : (
          <textarea
            {...{ ...attributes, name, ...others }}
            defaultValue={value}
            rows={lines}
            required={required}
            spellcheck={false}
          />
        )
      }
    </Labelled>
  );
}

/** A choice of a few, each with its text. */
export function SelectField({
  name,
  label,
  hint,
  refusal,
  choices,
  value,
}: FieldProps & {
  readonly choices: readonly (readonly [value: string, text: string])[];
  readonly value?: string;
}) {
  return (
    <Labelled {...{ label, hint, error: errorOf(name, refusal) }}>
      {(attributes) => (
        <select {...attributes} name={name}>
          {choices.map(([each, text]) => (
            <option key={each} value={each} selected={each === value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

type Attributes = {
  readonly id: string;
  readonly 'aria-describedby'?: string;
  readonly 'aria-invalid'?: true;
};

function Labelled({
  label,
  hint,
  error,
  isOptional = false,
  children,
}: {
  readonly label: string;
  readonly hint: ComponentChildren;
  readonly error: string | undefined;
  readonly isOptional?: boolean;
  readonly children: (attributes: Attributes) => ComponentChildren;
}) {
  const id = useId();
  const [hintId, errorId] = [`${id}-hint`, `${id}-error`];
  const describing = [hint === undefined ? '' : hintId, error === undefined ? '' : errorId];
  const describedBy = describing.filter((each) => each !== '').join(' ');
  return (
    <div class="field">
      <label for={id}>
        {label}
        {isOptional ? <span class="optional"> (optional)</span> : null}
      </label>
      {children({
        id,
        ...(describedBy === '' ? {} : { 'aria-describedby': describedBy }),
        ...(error === undefined ? {} : { 'aria-invalid': true }),
      })}
      {hint === undefined ? null : (
        <p class="hint" id={hintId}>
          {hint}
        </p>
      )}
      {error === undefined ? null : (
        <p class="field-error" id={errorId} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

function errorOf(name: string, refusal: Refused | undefined): string | undefined {
  return refusal?.field === name ? sentence(refusal.message) : undefined;
}

const focused = new WeakSet<HTMLInputElement>();

/** Takes the focus when the field appears, and never again. */
function focusOnce(input: HTMLInputElement | null): void {
  if (input === null || focused.has(input)) return;
  focused.add(input);
  // The attribute is for a dialog, which gives the focus to its first field with it when it opens.
  input.autofocus = true;
  input.focus();
}

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
