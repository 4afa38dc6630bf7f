import { useState } from 'preact/hooks';
import type { Me } from '#pages/answers';
import type { Persona, Questionnaire, TestResult } from '#pages/instance-answers';
import { instanceApi } from '#pages/instance-api';
import { useAction, useLoaded } from '#pages/loaded';
import {
  forgetAnswers,
  saveAnswers,
  savedAnswers,
  type TestAnswers,
  testKey,
} from '#pages/saved-test';
import { FormDialog } from '#view/dialog';
import { WhenLoaded } from '#view/notice';
import { Page } from '#view/page';
import { TestForm } from '#view/test-form';
import { TestResultPart } from '#view/test-result';

/** A result, and the personas that it names. */
type Scored = { readonly result: TestResult; readonly personas: readonly Persona[] };

/** The personality test: its questions, then its result, from which an instance is made. */
export function TestPage({ me }: { readonly me: Me }) {
  const questionnaire = useLoaded(instanceApi.questions);
  const [scored, setScored] = useState<Scored | undefined>();
  return (
    <Page
      {...(scored === undefined
        ? { title: 'Personality test', lead: '35 statements, about ten minutes.' }
        : { title: 'Your result', lead: 'A personality that an instance can begin with.' })}
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

/** Answers stay in the browser until an instance was made of them, or the test is started over. */
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
    const given = Object.entries(answers).map(([question_id, value]) => ({ question_id, value }));
    const asked = [instanceApi.submitTest(version, given), instanceApi.personas()] as const;
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
          <p>All answers that you have given are thrown away.</p>
        </FormDialog>
      ) : null}
    </>
  );
}
