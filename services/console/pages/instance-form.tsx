import type { ComponentChildren } from 'preact';
import { useIdempotencyKeys } from '#pages/idempotency-key';
import type { InitialConfig, InstanceWanted } from '#pages/instance-answers';
import { instanceApi } from '#pages/instance-api';
import { useAction } from '#pages/loaded';
import { navigate } from '#pages/router';
import { submitted, TextField, type Values } from '#view/field';
import { instanceAddress } from '#view/instance-table';
import { RefusalNotice } from '#view/notice';

const FIELDS = ['name', 'description'];

/** Asks for a name and a description, creates the instance, and goes to it. */
export function InstanceForm({
  configOf,
  onMade,
  children,
}: {
  /** What the instance begins with, by the fields of `children`; undefined for a neutral one. */
  readonly configOf: (values: Values) => InitialConfig | undefined;
  readonly onMade?: () => void;
  readonly children?: ComponentChildren;
}) {
  const { keyFor } = useIdempotencyKeys();
  const { run, isBusy, refusal } = useAction(async (values: Values) => {
    const wanted = wantedOf(values, configOf(values));
    const { id } = await instanceApi.create(wanted, keyFor(wanted));
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
        <button type="submit" class="is-main" disabled={isBusy}>
          {isBusy ? 'One moment …' : 'Create the instance'}
        </button>
      </p>
    </form>
  );
}

function wantedOf(values: Values, config: InitialConfig | undefined): InstanceWanted {
  const { name = '', description = '' } = values;
  return {
    name: name.trim(),
    description: description.trim(),
    ...(config === undefined ? {} : { initial_config: config }),
  };
}
