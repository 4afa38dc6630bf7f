import { useEffect } from 'preact/hooks';
import type { Instance, ModeStrengths, Persona } from '#clients/typescript/src/models';
import { instanceAddress } from '#pages/fleet/view';
import { instanceApi } from '#pages/instance/api';
import type { CourseModel, Shown } from '#pages/instance/course-model';
import type { InstanceView } from '#pages/instance/live';
import { MODES, modelVersionOf, valuesOf } from '#pages/instance/modes';
import { counted } from '#pages/parts/format';
import { useLoaded } from '#pages/shell/loaded';
import { NO_MARKS, usePlot } from '#view/instance/chart';
import { ContractCard } from '#view/instance/contract';
import { RefusalNotice } from '#view/parts/notice';
import { Radar } from '#view/parts/radar';
import { TimeText } from '#view/parts/text';
import { Link } from '#view/shell/router';

type StateTabProps = {
  readonly instance: Instance;
  readonly view: InstanceView;
  readonly model: CourseModel;
  readonly shown: Shown;
};

/** First screen: identity, allowed actions and recent past of the agent. */
export function StateTab({ instance, view, model, shown }: StateTabProps) {
  return (
    <>
      <div class="state-cards">
        <ContractCard report={view.now} model={modelVersionOf(instance)} />
        <div class="state-side">
          <PastPart {...{ instance, view, model, shown }} />
          <StateRadar view={view} />
        </div>
      </div>
      {instance.description.length < DESCRIPTION_LENGTH_MAX ? null : (
        <section class="card" aria-labelledby="description">
          <h2 id="description">Description</h2>
          <p class="whole-description">{instance.description}</p>
        </section>
      )}
    </>
  );
}

/** Length of a description that the head shows as a whole, in UTF-16 units. */
const DESCRIPTION_LENGTH_MAX = 200;

/** Height of the small course, in pixels. */
const PAST_PX = 110;

/** How the instance came to its state: the course of the generation as a small picture. */
function PastPart({ instance, view: { now }, model, shown: { course, refusal } }: StateTabProps) {
  useEffect(() => void model.refineOnce(), []);
  const { points } = course;
  const { canvas } = usePlot(points, NO_MARKS, PAST_PX);
  const last = points.at(-1);
  return (
    <section class="card past" aria-labelledby="past">
      <div class="card-head">
        <h2 id="past">How it came here</h2>
        <Link to={`${instanceAddress(instance.id)}?tab=course`}>Whole course</Link>
      </div>
      <p>
        {counted(last?.x ?? 0, 'observation')} in generation {course.generation}
        {last?.at === undefined ? '' : ', the newest on '}
        {last?.at === undefined ? null : <TimeText at={last.at} precision="second" />}.{' '}
        {now?.drift.deviation.description}
      </p>
      <div
        ref={canvas}
        class="past-canvas"
        role="img"
        aria-label={`Modes, energy and stability over ${counted(last?.x ?? 0, 'observation')}`}
      />
      <RefusalNotice refusal={refusal} />
    </section>
  );
}

type Kind = 'now' | 'set-point' | 'stable' | 'persona';

const AXES = MODES.map(([, name]) => name);

/**
 * Radar chart of the present modes, the set-point, the last stable state and the nearest persona.
 */
function StateRadar({ view: { now } }: { readonly view: InstanceView }) {
  const { loaded } = useLoaded<readonly Persona[]>(instanceApi.personas);
  const personas = loaded.kind === 'ready' ? loaded.value : [];
  const nearest = personas.find(({ id }) => id === now?.drift.deviation.nearest_persona);
  const shape = (name: string, kind: Kind, of: ModeStrengths | undefined) =>
    of === undefined ? [] : [{ name, kind, values: valuesOf(of) }];
  const series = [
    ...shape('Now', 'now', now?.snapshot.mode_strengths),
    ...shape('Set-point', 'set-point', now?.set_point),
    ...shape('Last stable', 'stable', now?.last_stable),
    ...shape(nearest?.name ?? '', 'persona', nearest?.mode_profile),
  ];
  return (
    <section class="card is-top" aria-labelledby="modes">
      <h2 id="modes">Modes</h2>
      {now === undefined ? (
        <p class="quiet">Waiting for the state …</p>
      ) : (
        <>
          <Radar axes={AXES} series={series} label="Strength of the seven modes" />
          {loaded.kind === 'ready' && nearest === undefined ? (
            <p class="quiet">No persona is near.</p>
          ) : null}
        </>
      )}
    </section>
  );
}
