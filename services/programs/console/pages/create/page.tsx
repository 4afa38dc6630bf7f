import type { ComponentChildren } from 'preact';
import type { CreateInstance, InitialConfig } from '#clients/typescript/src/models';
import { createApi } from '#pages/create/api';
import { instanceAddress } from '#pages/fleet/view';
import { instanceApi } from '#pages/instance/api';
import { useIdempotencyKeys } from '#pages/shell/idempotency-key';
import { useAction, useLoaded } from '#pages/shell/loaded';
import { ChoiceCard, submitted, TextField, type Values } from '#view/parts/field';
import { RefusalNotice, sentence, WhenLoaded } from '#view/parts/notice';
import { ModeBars } from '#view/parts/radar';
import { Link, navigate, Page } from '#view/shell/router';

/**
 * Page that creates an instance. The initial state is neutral or comes from a persona. The page
 * also links to the personality test.
 */
export function CreateInstancePage() {
  const personas = useLoaded(instanceApi.personas);
  const known = personas.loaded.kind === 'ready' ? personas.loaded.value : [];
  return (
    <Page
      title="Create an instance"
      lead={
        <>
          Choose the initial state; observations change it. You can also{' '}
          <Link to="/instances/test">take the personality test</Link> and use its result.
        </>
      }
    >
      <InstanceForm
        configOf={({ start }) => {
          const chosen = known.find(({ id }) => id === start);
          return chosen === undefined ? undefined : { mode_strengths: chosen.mode_profile };
        }}
      >
        <fieldset class="choices">
          <legend>Initial state</legend>
          <ChoiceCard
            {...{ name: 'start', value: 'neutral', title: 'Neutral', isFirst: true }}
            text="All modes at 0 %. Only observations form its character."
          />
          <WhenLoaded loading={personas} what="personas">
            {(all) => (
              <>
                {all.map(({ id, name, archetype, description, mode_profile }) => (
                  <ChoiceCard
                    key={id}
                    {...{ name: 'start', value: id, title: name }}
                    text={`${sentence(archetype)} ${description}`}
                  >
                    <ModeBars strengths={mode_profile} />
                  </ChoiceCard>
                ))}
              </>
            )}
          </WhenLoaded>
        </fieldset>
      </InstanceForm>
    </Page>
  );
}

const FIELDS = ['name', 'description'];

/** Form for name and description. Creates the instance and opens its page. */
export function InstanceForm({
  configOf,
  onMade,
  children,
}: {
  /** Initial state from the fields of `children`. Undefined for a neutral instance. */
  readonly configOf: (values: Values) => InitialConfig | undefined;
  readonly onMade?: () => void;
  readonly children?: ComponentChildren;
}) {
  const { keyFor } = useIdempotencyKeys();
  const { run, isBusy, refusal } = useAction(async (values: Values) => {
    const wanted = wantedOf(values, configOf(values));
    const { id } = await createApi.create(wanted, keyFor(wanted));
    onMade?.();
    navigate(instanceAddress(id));
  });
  return (
    <form class="instance-form" onSubmit={submitted(run)}>
      <div class="instance-texts">
        <TextField {...{ name: 'name', label: 'Name', refusal, maxLength: 100 }} />
        <TextField
          {...{ name: 'description', label: 'Description', refusal, maxLength: 2_000, lines: 2 }}
          isOptional
        />
      </div>
      {children}
      <RefusalNotice refusal={refusal} fields={FIELDS} />
      <p class="form-end">
        <button type="submit" class="is-main" aria-disabled={isBusy}>
          {isBusy ? 'One moment …' : 'Create the instance'}
        </button>
      </p>
    </form>
  );
}

function wantedOf(values: Values, config: InitialConfig | undefined): CreateInstance {
  const { name = '', description = '' } = values;
  return {
    name: name.trim(),
    description: description.trim(),
    ...(config === undefined ? {} : { initial_config: config }),
  };
}
