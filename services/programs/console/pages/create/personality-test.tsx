import { useRef, useState } from 'preact/hooks';
import type {
  Persona,
  QuestionId,
  Questionnaire,
  TestResult,
} from '#clients/typescript/src/models';
import type { Me } from '#console/answers';
import { createApi } from '#pages/create/api';
import { instanceApi } from '#pages/instance/api';
import type { Refused } from '#pages/shell/api';
import { useAction, useLoaded } from '#pages/shell/loaded';
import { TestResultPart } from '#view/create/test-result';
import { FormDialog } from '#view/parts/dialog';
import { submitted } from '#view/parts/field';
import { RefusalNotice, WhenLoaded } from '#view/parts/notice';
import { Page } from '#view/shell/router';

/** The result of a test, and all personas. */
type Scored = { readonly result: TestResult; readonly personas: readonly Persona[] };

/** Personality test: questions, then the result, then a new instance. */
export function TestPage({ me }: { readonly me: Me }) {
  const questionnaire = useLoaded(createApi.questions);
  const [scored, setScored] = useState<Scored | undefined>();
  return (
    <Page
      {...(scored === undefined
        ? { title: 'Personality test', lead: '35 statements, about ten minutes.' }
        : { title: 'Your result', lead: 'Create an instance with this personality.' })}
    >
      <WhenLoaded loading={questionnaire} what="questions">
        {(loaded) => (
          <Test
            {...{ questionnaire: loaded, scored, onScored: setScored }}
            storeKey={testKey(me.account.id, me.user.id)}
          />
        )}
      </WhenLoaded>
    </Page>
  );
}

/** Answers stay in the browser until an instance is created or the test is restarted. */
function Test({
  questionnaire,
  storeKey,
  scored,
  onScored,
}: {
  readonly questionnaire: Questionnaire;
  readonly storeKey: string;
  readonly scored: Scored | undefined;
  readonly onScored: (scored: Scored | undefined) => void;
}) {
  const [answers, setAnswers] = useState(() => savedAnswers(storeKey, questionnaire));
  const [isLeaving, setLeaving] = useState(false);
  const { version } = questionnaire;
  const submit = useAction(async () => {
    const given = Object.entries(answers).map(([id, value]) => ({
      // The form shows the questions of the service.
      question_id: id as QuestionId,
      value,
    }));
    const asked = [createApi.submitTest(version, given), instanceApi.personas()] as const;
    const [result, personas] = await Promise.all(asked);
    onScored({ result, personas });
  });
  const answer = (id: string, value: number): void => {
    const next: TestAnswers = { ...answers, [id]: value };
    setAnswers(next);
    saveAnswers(storeKey, version, next);
  };
  const startOver = (): void => {
    forgetAnswers(storeKey);
    setAnswers({});
    setLeaving(false);
    onScored(undefined);
    scrollTo({ top: 0 });
  };
  return (
    <>
      {scored === undefined ? (
        <TestForm
          {...{ questionnaire, answers, isBusy: submit.isBusy, refusal: submit.refusal }}
          {...{ onAnswer: answer, onSubmit: () => submit.run() }}
          onStartOver={() => setLeaving(true)}
        />
      ) : (
        <TestResultPart
          {...scored}
          onBack={() => onScored(undefined)}
          onStartOver={() => setLeaving(true)}
          onMade={() => forgetAnswers(storeKey)}
        />
      )}
      {isLeaving ? (
        <FormDialog
          {...{ title: 'Start the test over?', submit: 'Start over', isDangerous: true }}
          {...{ isBusy: false, refusal: undefined, onClose: () => setLeaving(false) }}
          onSubmit={startOver}
        >
          <p>All your answers are discarded.</p>
        </FormDialog>
      ) : null}
    </>
  );
}

type TestFormProps = {
  readonly questionnaire: Questionnaire;
  readonly answers: TestAnswers;
  readonly isBusy: boolean;
  readonly refusal: Refused | undefined;
  readonly onAnswer: (id: string, value: number) => void;
  readonly onSubmit: () => void;
  readonly onStartOver: () => void;
};

/** Form with questions and progress. Submits the answers only if all questions are answered. */
function TestForm(props: TestFormProps) {
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
        <button type="submit" class="is-main" aria-disabled={isBusy}>
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
  'Press 1 to 5 to answer a question and move to the next. This browser stores the answers, so ' +
  'you can continue later.';

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

/**
 * A statement with its scale. If the person typed a digit, `isByDigit` is true, and the form moves
 * the focus to the next question.
 */
function TestQuestion({
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

/** Answers by question id. */
type TestAnswers = Readonly<Record<string, number>>;

/** Storage key for a user's answers in an account. */
const testKey = (accountId: string, userId: string): string =>
  `personality-test:${accountId}:${userId}`;

/** Reads saved answers. Answers to another version of the test and invalid values are dropped. */
function savedAnswers(key: string, { version, scale, questions }: Questionnaire): TestAnswers {
  const saved = parsed(read(key));
  if (saved?.version !== version) return {};
  const isTaken = (value: unknown) =>
    Number.isInteger(value) && Number(value) >= scale.min && Number(value) <= scale.max;
  const known = questions
    .map(({ id }) => [id, saved.answers?.[id]] as const)
    .filter(([, value]) => isTaken(value));
  return Object.fromEntries(known) as TestAnswers;
}

/** Saves answers in the browser. Without storage, a reload starts over. */
function saveAnswers(key: string, version: string, answers: TestAnswers): void {
  try {
    localStorage.setItem(key, JSON.stringify({ version, answers }));
  } catch {
    // Storage is disabled or full: the page continues from memory.
  }
}

/** Deletes the saved answers. */
function forgetAnswers(key: string): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // Disabled storage has nothing to delete.
  }
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

type Saved = { readonly version?: unknown; readonly answers?: Readonly<Record<string, unknown>> };

function parsed(text: string | null): Saved | undefined {
  try {
    return (JSON.parse(text ?? 'null') as Saved | null) ?? undefined;
  } catch {
    return undefined;
  }
}
