import { useRef, useState } from 'preact/hooks';
import type { Refused } from '#pages/api';
import type { Questionnaire } from '#pages/instance-answers';
import type { TestAnswers } from '#pages/saved-test';
import { submitted } from '#view/field';
import { RefusalNotice } from '#view/notice';
import { TestQuestion } from '#view/test-question';

type TestFormProps = {
  readonly questionnaire: Questionnaire;
  readonly answers: TestAnswers;
  readonly isBusy: boolean;
  readonly refusal: Refused | undefined;
  readonly onAnswer: (id: string, value: number) => void;
  readonly onSubmit: () => void;
  readonly onStartOver: () => void;
};

/** All questions, how many have an answer, and the way to the result once all have one. */
export function TestForm(props: TestFormProps) {
  const { questionnaire, answers, isBusy, refusal, onAnswer, onSubmit, onStartOver } = props;
  const { questions, scale } = questionnaire;
  const form = useRef<HTMLFormElement>(null);
  const [missing, setMissing] = useState('');
  const open = questions.filter(({ id }) => answers[id] === undefined);
  const focus = (id: string | undefined): void => {
    const own = form.current?.querySelectorAll<HTMLInputElement>(`input[name="${id}"]`) ?? [];
    ([...own].find(({ checked }) => checked) ?? own[0])?.focus();
  };
  const answer = (position: number, value: number, isByDigit: boolean): void => {
    const [question, next] = questions.slice(position - 1);
    if (question === undefined) return;
    onAnswer(question.id, value);
    setMissing('');
    if (isByDigit) focus(next?.id ?? question.id);
  };
  const submit = (): void => {
    const [first] = open;
    if (first === undefined) onSubmit();
    else {
      setMissing(`Question ${first.position} has no answer yet.`);
      focus(first.id);
    }
  };
  return (
    <form class="test" ref={form} onSubmit={submitted(submit)}>
      <Progress given={questions.length - open.length} all={questions.length} />
      <p>
        {questionnaire.instructions} <span class="quiet">{HOW}</span>
      </p>
      <div class="questions">
        {questions.map((question) => (
          <TestQuestion
            key={question.id}
            of={question}
            scale={scale}
            value={answers[question.id]}
            onAnswer={(value, isByDigit) => answer(question.position, value, isByDigit)}
          />
        ))}
      </div>
      <RefusalNotice refusal={refusal} />
      <div class="button-row">
        <button type="submit" class="is-main" disabled={isBusy}>
          {isBusy ? 'One moment …' : 'See the result'}
        </button>
        {open.length === questions.length ? null : (
          <button type="button" onClick={onStartOver}>
            Start over
          </button>
        )}
        <span class="field-error" role="alert">
          {missing}
        </span>
      </div>
    </form>
  );
}

const HOW =
  'The keys 1 to 5 answer a question and go on to the next one. Answers are kept in this browser, so you can go on later.';

function Progress({ given, all }: { readonly given: number; readonly all: number }) {
  return (
    <div class="test-progress">
      <progress max={all} value={given} aria-label="Questions with an answer" />
      <span role="status">
        {given} of {all} answered
      </span>
    </div>
  );
}
