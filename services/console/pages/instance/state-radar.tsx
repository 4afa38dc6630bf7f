import type { InstanceView } from '#pages/instance/live-instance';
import { MODES, type Persona, type Strengths, valuesOf } from '#pages/instance-answers';
import { Radar } from '#view/radar';

type Kind = 'now' | 'set-point' | 'stable' | 'persona';

const AXES = MODES.map(([, name]) => name);

/** The modes now, their set-point, those of the last stable state, and of the nearest persona. */
export function StateRadar({
  view: { now },
  personas,
}: {
  readonly view: InstanceView;
  readonly personas: readonly Persona[];
}) {
  const nearest = personas.find(({ id }) => id === now?.drift.deviation.nearest_persona);
  const shape = (name: string, kind: Kind, of: Strengths | undefined) =>
    of === undefined ? [] : [{ name, kind, values: valuesOf(of) }];
  const series = [
    ...shape('Now', 'now', now?.snapshot.mode_strengths),
    ...shape('Set-point', 'set-point', now?.set_point),
    ...shape('Last stable', 'stable', now?.last_stable),
    ...shape(nearest?.name ?? '', 'persona', nearest?.mode_profile),
  ];
  return (
    <section class="card" aria-labelledby="modes">
      <h2 id="modes">Modes</h2>
      {now === undefined ? (
        <p class="quiet">Waiting for the state …</p>
      ) : (
        <>
          <Radar axes={AXES} series={series} label="Strength of the seven modes" />
          <p class="quiet">
            {nearest === undefined ? 'No persona is near. ' : ''}
            The set-point is the slowly learning home of the modes; to the last stable state a
            rollback and the default reset return.
          </p>
        </>
      )}
    </section>
  );
}
