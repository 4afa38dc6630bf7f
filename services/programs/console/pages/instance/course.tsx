import { useEffect, useRef } from 'preact/hooks';
import type { Instance } from '#clients/typescript/src/models';
import type { CourseModel, Shown } from '#pages/instance/course-model';
import { modelVersionOf } from '#pages/instance/modes';
import { counted, numberText } from '#pages/parts/format';
import { useRetry } from '#pages/shell/loaded';
import { CourseChart, focusChart } from '#view/instance/course-chart';
import { MomentPart } from '#view/instance/moment';
import { submitted } from '#view/parts/field';
import { RefusalNotice } from '#view/parts/notice';

/** Maximum number of generations to choose from. */
const GENERATIONS_MAX = 100;

type ShownProps = { readonly model: CourseModel; readonly shown: Shown };

type CourseTabProps = ShownProps & { readonly instance: Instance };

/** Past and present of the instance as a chart, and the selected state. */
export function CourseTab({ instance, model, shown }: CourseTabProps) {
  useEffect(() => void model.open(), []);
  const { course, isLoading, refusal } = shown;
  useRetry(refusal, () => void model.retry(), refusal === undefined && !isLoading);
  return (
    <>
      <section class="card" aria-labelledby="course">
        <div class="card-head">
          <h2 id="course">Course</h2>
          <Generation {...{ model, shown }} />
        </div>
        <p class="quiet">
          <Summary shown={shown} /> Background: stress{' '}
          {['MED', 'HIGH', 'OVER'].map((state) => (
            <span key={state} class={`stress-key is-${state}`}>
              {state}
            </span>
          ))}
          . Short lines at the bottom: observations, in the color of their mode.
        </p>
        <CourseChart {...{ model, shown }} />
        <div class="button-row">
          <GoTo {...{ model, shown }} />
          <Older {...{ model, shown }} />
          <span class="quiet" role="status">
            {isLoading ? 'Loading …' : ''}
          </span>
        </div>
        <RefusalNotice refusal={refusal} />
        {refusal === undefined ? null : (
          <button
            type="button"
            onClick={() => {
              focusChart();
              void model.retry();
            }}
          >
            Try again
          </button>
        )}
      </section>
      <MomentPart
        key={course.generation}
        {...{ instance, model, shown }}
        modelVersion={modelVersionOf(instance)}
      />
    </>
  );
}

function Summary({ shown: { course, present } }: { readonly shown: Shown }) {
  const { generation, points, observations, drifts, first } = course;
  const begin = Math.max(first, course.extent[0]);
  const rollbacks = drifts.filter(({ rolled_back }) => rolled_back).length;
  const parts = [
    `${counted(points.length, 'state')}, ${counted(observations.length, 'observation')}`,
    `${counted(drifts.length, 'drift event')} and ${counted(rollbacks, 'rollback')} loaded`,
  ];
  return (
    <>
      {parts.join(', ')}.{generation > 1 ? ' The generation began with a reset.' : ''}
      {present !== undefined && generation < present ? ' It ended with a reset.' : ''}
      {begin > 0 && Number.isFinite(begin)
        ? ` The stored states begin at cycle ${numberText(begin)}.`
        : ''}
      {first === Number.POSITIVE_INFINITY
        ? ' The exact states of this generation are not stored.'
        : ''}
    </>
  );
}

/** Choice of the generation. A reset begins a new generation, whose cycles count from 0. */
function Generation({ model, shown: { course, present } }: ShownProps) {
  if (present === undefined || present === 1) return null;
  const oldest = Math.max(1, present - GENERATIONS_MAX + 1);
  const all = Array.from({ length: present - oldest + 1 }, (_, index) => present - index);
  return (
    <label class="reach">
      Generation{' '}
      <select
        value={String(course.generation)}
        onChange={({ currentTarget }) => void model.choose(Number(currentTarget.value))}
      >
        {all.map((each) => (
          <option key={each} value={String(each)}>
            {each === present ? `${each}, present` : each}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Selects an exact cycle. */
function GoTo({ model, shown }: ShownProps) {
  const [first, last] = shown.course.extent;
  return (
    <form
      class="go-to"
      onSubmit={submitted(({ cycle = '' }) => {
        if (cycle !== '') void model.select(Number(cycle));
      })}
    >
      <input
        {...{ type: 'number', name: 'cycle', min: first, max: last, step: 1, required: true }}
        aria-label="Cycle"
        placeholder="Cycle"
      />
      <button type="submit" class="is-small">
        Go to cycle
      </button>
    </form>
  );
}

/** Loads the next older page of observations and drift events. Stays when all are loaded. */
function Older({ model, shown: { hasOlder, isLoading } }: ShownProps) {
  const wasShown = useRef(false);
  wasShown.current ||= hasOlder;
  if (!wasShown.current) return null;
  return (
    <button
      type="button"
      class="is-small"
      aria-disabled={isLoading || !hasOlder}
      onClick={() => {
        if (hasOlder && !isLoading) void model.loadOlder();
      }}
    >
      {hasOlder ? 'Load older observations' : 'All observations are loaded'}
    </button>
  );
}
