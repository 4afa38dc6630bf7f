import type { InstanceView } from '#pages/instance/live-instance';
import { MODES, type Persona, valuesOf } from '#pages/instance-answers';
import { Radar } from '#view/radar';

const AXES = MODES.map(([, name]) => name);

/** The modes now, of the last stable state that was seen, and of the nearest persona. */
export function StateRadar({
  view: { now, stable },
  personas,
}: {
  readonly view: InstanceView;
  readonly personas: readonly Persona[];
}) {
  const nearest = personas.find(({ id }) => id === now?.drift.deviation.nearest_persona);
  const shape = (name: string, kind: 'now' | 'stable' | 'persona', of: typeof now) =>
    of === undefined ? [] : [{ name, kind, values: valuesOf(of.snapshot.mode_strengths) }];
  const series = [
    ...shape('Now', 'now', now),
    ...shape('Last stable', 'stable', stable),
    ...(nearest === undefined
      ? []
      : [{ name: nearest.name, kind: 'persona' as const, values: valuesOf(nearest.mode_profile) }]),
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
            {[
              stable === undefined
                ? 'No stable state was seen since this page was opened.'
                : undefined,
              nearest === undefined ? 'No persona is near.' : undefined,
              'The set-point is not shown: the API answers distances from it (below), not the set-point itself.',
            ]
              .filter((each) => each !== undefined)
              .join(' ')}
          </p>
        </>
      )}
    </section>
  );
}
