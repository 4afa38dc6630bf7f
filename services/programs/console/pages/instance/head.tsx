import type { ComponentChildren } from 'preact';
import type { Instance } from '#clients/typescript/src/models';
import type { InstanceView } from '#pages/instance/live';
import type { LiveModel } from '#pages/instance/live-model';
import { modelVersionOf } from '#pages/instance/modes';
import { levelText, numberText } from '#pages/parts/format';
import { DriftBadge, StressBadge } from '#view/parts/levels';
import { StreamSign } from '#view/parts/stream-sign';
import { CopyButton } from '#view/parts/text';

type LiveHeadProps = {
  readonly instance: Instance;
  readonly live: LiveModel;
  readonly view: InstanceView;
};

/** Id, present state and stream status of the instance. All tabs show this part. */
export function LiveHead({ instance, live, view }: LiveHeadProps) {
  const { now, gap, generation } = view;
  const tags = Object.entries(instance.tags ?? {});
  return (
    <section class="card live-head" aria-label="State now">
      <div class="card-head">
        <p class="instance-id">
          <code>{instance.id}</code> <CopyButton value={instance.id} what="the id" />{' '}
          {tags.map(([key, value]) => (
            <span key={key} class="badge">
              {value === '' ? key : `${key}: ${value}`}
            </span>
          ))}
        </p>
        <Connection live={live} />
      </div>
      {instance.description === '' ? null : (
        <p class="quiet description" title={instance.description}>
          {instance.description}
        </p>
      )}
      <dl class="figures">
        <Figure name="Stress">
          <StressBadge value={now?.snapshot.stress_state ?? instance.stress_state} />
        </Figure>
        <Figure name="Drift">
          <DriftBadge value={now?.drift.level} isInWords />
        </Figure>
        <Figure name="Mode now">{now === undefined ? '–' : modesOf(now.contract)}</Figure>
        <Figure name="Energy">
          {levelText(now?.snapshot.energy_level ?? instance.energy_level)}
        </Figure>
        <Figure name="Stability">
          {levelText(now?.snapshot.stability_index ?? instance.stability_index)}
        </Figure>
        <Figure name="Cycle">{numberText(now?.snapshot.cycle ?? instance.cycle_count)}</Figure>
        <Figure name="Generation">
          {generation === undefined ? 'unknown until an observation' : String(generation)}
        </Figure>
        <Figure name="Model">{modelVersionOf(instance)}</Figure>
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

function modesOf({ dominant_modes: modes }: { readonly dominant_modes: readonly string[] }) {
  return modes.length === 0 ? 'none leads' : modes.map((mode) => mode.replace('_', ' ')).join(', ');
}

function Figure({
  name,
  children,
}: {
  readonly name: string;
  readonly children: ComponentChildren;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
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
