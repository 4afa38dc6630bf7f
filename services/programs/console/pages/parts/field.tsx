import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { Refused } from '#pages/shell/api';
import { useKeptText } from '#pages/shell/kept-texts';
import { sentence } from '#view/parts/notice';

/** Field values of a form, by name. */
export type Values = Readonly<Record<string, string>>;

/** Submit handler that passes the field values to `act` and prevents a page load. */
export function submitted(act: (values: Values) => void) {
  return (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    act(textsIn(event.currentTarget));
  };
}

/** Present field values of a form. */
export function textsIn(form: HTMLFormElement): Values {
  const entries = [...new FormData(form)];
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

type FieldProps = {
  readonly name: string;
  readonly label: string;
  readonly hint?: ComponentChildren;
  /** Refusal of the form. Shown here if it concerns this field. */
  readonly refusal?: Refused | undefined;
};

type InputProps = FieldProps & {
  readonly type?: 'text' | 'email' | 'password' | 'datetime-local' | 'date' | 'number';
  /** Minimum value. Only for number fields and time fields. */
  readonly min?: number;
  readonly max?: number;
  readonly step?: number | 'any';
  readonly value?: string;
  readonly autocomplete?: string;
  readonly inputMode?: 'numeric' | 'text';
  readonly isOptional?: boolean;
  /** Whether the field filters a list: it may be empty, and is not labelled "optional". */
  readonly isFilter?: boolean;
  readonly maxLength?: number;
  readonly placeholder?: string;
  readonly hasFocus?: boolean;
  /** Whether the typed text survives the end of a session. By default true, except for secrets. */
  readonly isKept?: boolean;
  /** Lines in a multi-line field. Undefined for a single line. */
  readonly lines?: number;
};

/** Values of `autocomplete` for passwords and codes. */
const SECRET = /password|one-time-code/;

/** Labelled text field with hint and error. */
export function TextField(props: InputProps) {
  const { type = 'text', value = '', isOptional = false, isFilter = false, ...rest } = props;
  const { name, label, hint, refusal, autocomplete = 'off', hasFocus, lines, ...more } = rest;
  const { isKept = type !== 'password' && !SECRET.test(autocomplete), ...others } = more;
  const kept = useKeptText(name, value, isKept && !isFilter);
  const required = !isOptional && !isFilter;
  const error = errorOf(name, refusal);
  return (
    <Labelled {...{ label, hint, error, isOptional }}>
      {(attributes) =>
        lines === undefined ? (
          <input
            {...{ ...attributes, ...kept.attributes, name, autocomplete, ...others }}
            // Preact types the roles of an input per `type`, so a union of types does not compile.
            type={type as 'text'}
            defaultValue={kept.value}
            required={required}
            {...(hasFocus === true ? { ref: focusOnce } : {})}
          />
        ) : (
          <textarea
            {...{ ...attributes, ...kept.attributes, name, ...others }}
            defaultValue={kept.value}
            rows={lines}
            required={required}
            spellcheck={false}
          />
        )
      }
    </Labelled>
  );
}

/** A choice of a select field. */
type Choice = readonly [value: string, text: string];

/** Labelled select field. The choices in `groups` follow the other choices. */
export function SelectField({
  name,
  label,
  hint,
  refusal,
  choices,
  groups = [],
  value,
}: FieldProps & {
  readonly choices: readonly Choice[];
  readonly groups?: readonly { readonly title: string; readonly choices: readonly Choice[] }[];
  readonly value?: string;
}) {
  const option = ([each, text]: Choice) => (
    <option key={each} value={each} selected={each === value}>
      {text}
    </option>
  );
  return (
    <Labelled {...{ label, hint, error: errorOf(name, refusal) }}>
      {(attributes) => (
        <select {...attributes} name={name}>
          {choices.map(option)}
          {groups.map((group) => (
            <optgroup key={group.title} label={group.title}>
              {group.choices.map(option)}
            </optgroup>
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

/**
 * Button that submits a form. During the run the button keeps the focus: a disabled button would
 * lose the focus to the page. `useAction` ignores a second submit.
 */
export function SubmitButton({
  isBusy,
  busy = 'One moment …',
  isDisabled = false,
  isDangerous = false,
  children,
}: {
  readonly isBusy: boolean;
  /** Text during the run. */
  readonly busy?: string;
  readonly isDisabled?: boolean;
  readonly isDangerous?: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <button
      type="submit"
      class={isDangerous ? 'is-danger' : 'is-main'}
      disabled={isDisabled}
      aria-disabled={isBusy}
    >
      {isBusy ? busy : children}
    </button>
  );
}

const focused = new WeakSet<HTMLInputElement>();

/** Focuses the field when it first appears. */
function focusOnce(input: HTMLInputElement | null): void {
  if (input === null || focused.has(input)) return;
  focused.add(input);
  // `showModal` focuses the first field with this attribute.
  input.autofocus = true;
  input.focus();
}

/** Radio button as a card, with title, text and further content. */
export function ChoiceCard({
  name,
  value,
  title,
  isFirst = false,
  text,
  children,
}: {
  /** Field name shared by the choices. */
  readonly name: string;
  readonly value: string;
  readonly title: string;
  /** Selected by default. */
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
