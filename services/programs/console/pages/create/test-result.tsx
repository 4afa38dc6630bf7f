import type { Persona, TestResult } from '#clients/typescript/src/models';
import { MODES, valuesOf } from '#pages/instance/modes';
import { inWords, levelText } from '#pages/parts/format';
import { InstanceForm } from '#view/create/page';
import { Radar } from '#view/parts/radar';

const AXES = MODES.map(([, name]) => name);

/** Texts about answer consistency. */
const VERDICTS: Readonly<Record<TestResult['quality']['verdict'], string>> = {
  ok: 'The answers are consistent.',
  caution:
    'The answers are only partly consistent. The result is moved a quarter of the way to the ' +
    'middle.',
  invalid:
    'The answers are inconsistent. The result is moved most of the way to the middle. Start over ' +
    'for a better result.',
};

/** Test result, and a form that creates an instance from it. */
export function TestResultPart({
  result,
  personas,
  onBack,
  onStartOver,
  onMade,
}: {
  readonly result: TestResult;
  readonly personas: readonly Persona[];
  readonly onBack: () => void;
  readonly onStartOver: () => void;
  readonly onMade: () => void;
}) {
  const nearest = personas.find(({ id }) => id === result.nearest_personas[0]?.id);
  const series = [
    { name: 'Your result', kind: 'first', values: valuesOf(result.mode_strengths) } as const,
    ...(nearest === undefined
      ? []
      : [{ name: nearest.name, kind: 'persona', values: valuesOf(nearest.mode_profile) } as const]),
  ];
  return (
    <>
      <div class="cards">
        <section class="card is-top" aria-labelledby="modes">
          <h2 id="modes">Modes</h2>
          <Radar axes={AXES} series={series} label={labelOf(result, nearest)} />
        </section>
        <Likeness result={result} personas={personas} />
      </div>
      <section class="card" aria-labelledby="make">
        <h2 id="make">Create an instance from this result</h2>
        <InstanceForm configOf={() => result.initial_config} onMade={onMade} />
      </section>
      <div class="button-row">
        <button type="button" onClick={onBack}>
          Back to the questions
        </button>
        <button type="button" onClick={onStartOver}>
          Start over
        </button>
      </div>
    </>
  );
}

function labelOf({ mode_strengths: own }: TestResult, nearest: Persona | undefined): string {
  const values = MODES.map(([key, name]) => `${name} ${levelText(own[key])}`).join(', ');
  const beside = nearest === undefined ? '' : `, beside ${nearest.name}`;
  return `Your result${beside}: ${values}`;
}

function Likeness({
  result,
  personas,
}: {
  readonly result: TestResult;
  readonly personas: readonly Persona[];
}) {
  const personaOf = (id: string) => personas.find((persona) => persona.id === id);
  const { dominant_modes: dominant, composite, quality } = result;
  return (
    <section class="card is-top" aria-labelledby="likeness">
      <h2 id="likeness">Nearest personas</h2>
      <ol class="steps">
        {result.nearest_personas.map(({ id, fit }) => (
          <li key={id}>
            <strong>{personaOf(id)?.name ?? id}</strong> · fit {levelText(fit)}
            <span class="row-more">{personaOf(id)?.description}</span>
          </li>
        ))}
      </ol>
      {composite === null ? null : <p>Between two of them: {inWords(composite)}.</p>}
      <p>
        {dominant.length === 0
          ? 'No mode leads.'
          : `Leading modes: ${dominant.map(inWords).join(', ')}.`}
      </p>
      <p class={quality.verdict === 'ok' ? 'quiet' : 'notice'}>
        {VERDICTS[quality.verdict]}
        {quality.flags.length === 0 ? null : ` Noticed: ${quality.flags.map(inWords).join(', ')}.`}
      </p>
    </section>
  );
}
