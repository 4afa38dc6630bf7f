import type { Instance, ModeStrengths, Persona } from '#clients/typescript/src/models';
import type { InstanceView } from '#pages/instance/live';
import type { LiveModel } from '#pages/instance/live-model';
import { MODES, modelVersionOf, valuesOf } from '#pages/instance/modes';
import { levelText, numberText } from '#pages/parts/format';
import { driftClass } from '#view/instance/deviation';
import { Radar } from '#view/parts/radar';
import { StreamSign } from '#view/parts/stream-sign';
import { CopyButton } from '#view/parts/text';

type LiveHeadProps = {
  readonly instance: Instance;
  readonly live: LiveModel;
  readonly view: InstanceView;
  readonly generation: number | undefined;
};

/** Id, present state and stream status of the instance. */
export function LiveHead({ instance, live, view, generation }: LiveHeadProps) {
  const { now, gap } = view;
  return (
    <section class="card" aria-label="State now">
      <div class="card-head">
        <p class="instance-id">
          <code>{instance.id}</code> <CopyButton value={instance.id} what="the id" />
        </p>
        <Connection live={live} />
      </div>
      {instance.description === '' ? null : <p class="quiet">{instance.description}</p>}
      <dl class="figures">
        <Figure name="Cycle" value={numberText(now?.snapshot.cycle ?? instance.cycle_count)} />
        <Figure
          name="Generation"
          value={generation === undefined ? 'unknown until an observation' : String(generation)}
        />
        <Figure name="Mode now" value={now === undefined ? '–' : modesOf(now.contract)} />
        <div>
          <dt>Drift</dt>
          <dd>
            {now === undefined ? (
              '–'
            ) : (
              <span class={`badge ${driftClass(now.drift.level)}`}>
                {now.drift.level} {DRIFT_WORDS[now.drift.level]}
              </span>
            )}
          </dd>
        </div>
        <Figure
          name="Energy"
          value={levelText(now?.snapshot.energy_level ?? instance.energy_level)}
        />
        <Figure
          name="Stability"
          value={levelText(now?.snapshot.stability_index ?? instance.stability_index)}
        />
        <Figure name="Stress" value={now?.snapshot.stress_state ?? instance.stress_state} />
        <Figure name="Model" value={modelVersionOf(instance)} />
      </dl>
      {gap === undefined ? null : (
        <p class="notice" role="status">
          Observations {numberText(gap.from)} to {numberText(gap.to)} are no longer stored, so this
          page cannot show them.
        </p>
      )}
    </section>
  );
}

const DRIFT_WORDS: Readonly<Record<string, string>> = {
  D0: 'within band',
  D1: 'situational',
  D2: 'sustained',
  D3: 'breach',
};

function modesOf({ dominant_modes: modes }: { readonly dominant_modes: readonly string[] }) {
  return modes.length === 0 ? 'none leads' : modes.map((mode) => mode.replace('_', ' ')).join(', ');
}

function Figure({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** Stream status, and a button that pauses updates. */
function Connection({ live }: { readonly live: LiveModel }) {
  const isPaused = live.isPaused.value;
  return (
    <p class="connection">
      {isPaused ? (
        <span class="badge is-quiet">paused</span>
      ) : (
        <StreamSign status={live.status.value} />
      )}
      <button type="button" class="is-small" onClick={() => live.pause(!isPaused)}>
        {isPaused ? 'Continue' : 'Pause'}
      </button>
    </p>
  );
}

type Kind = 'now' | 'set-point' | 'stable' | 'persona';

const AXES = MODES.map(([, name]) => name);

/**
 * Radar chart of the present modes, the set-point, the last stable state and the nearest persona.
 */
export function StateRadar({
  view: { now },
  personas,
}: {
  readonly view: InstanceView;
  readonly personas: readonly Persona[];
}) {
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
    <section class="card" aria-labelledby="modes">
      <h2 id="modes">Modes</h2>
      {now === undefined ? (
        <p class="quiet">Waiting for the state …</p>
      ) : (
        <>
          <Radar axes={AXES} series={series} label="Strength of the seven modes" />
          <p class="quiet">
            {nearest === undefined ? 'No persona is near. ' : ''}
            The set-point is the long-term average of the modes. A rollback and the default reset
            restore the last stable state.
          </p>
        </>
      )}
    </section>
  );
}
