import type { Questionnaire } from '#pages/instance-answers';

/** One statement with its scale. `onAnswer` learns whether a digit was typed, which leads on. */
export function TestQuestion({
  of: { id, position, text },
  scale: { min, max, labels },
  value,
  onAnswer,
}: {
  readonly of: Questionnaire['questions'][number];
  readonly scale: Questionnaire['scale'];
  readonly value: number | undefined;
  readonly onAnswer: (value: number, isByDigit: boolean) => void;
}) {
  const steps = Array.from({ length: max - min + 1 }, (_, step) => min + step);
  const typed = (event: KeyboardEvent): void => {
    const digit = steps.find((step) => String(step) === event.key);
    if (digit === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    onAnswer(digit, true);
  };
  return (
    <fieldset class="question" onKeyDown={typed}>
      <legend>
        <span class="quiet">{position}.</span> {text}
      </legend>
      <div class="scale">
        <span class="scale-end" aria-hidden="true">
          {labels[0]}
        </span>
        {steps.map((step) => (
          <label key={step} class="scale-step">
            <input
              {...{ type: 'radio', name: id, value: String(step), checked: value === step }}
              aria-label={`${step}, ${labels[step - min]}`}
              onChange={() => onAnswer(step, false)}
            />
            {step}
          </label>
        ))}
        <span class="scale-end" aria-hidden="true">
          {labels.at(-1)}
        </span>
      </div>
    </fieldset>
  );
}
