import { useId } from 'preact/hooks';
import type { CreateWebhook, Webhook } from '#clients/typescript/src/models';
import { TRANSITIONS } from '#identity/transitions';
import type { Refused } from '#pages/shell/api';
import { useAction } from '#pages/shell/loaded';
import { webhookApi } from '#pages/webhooks/api';
import { EVENT_TYPES, USUAL_TYPES } from '#pages/webhooks/event-types';
import { FormDialog } from '#view/parts/dialog';
import { TextField, type Values } from '#view/parts/field';
import { sentence } from '#view/parts/notice';

/** Names of the fields of the form that show their own errors. */
export function shownFields(refusal: Refused | undefined): string[] {
  const { field = '' } = refusal ?? {};
  // The checkboxes show errors of the list and of its items.
  const list = isAboutTypes(field) ? [field] : [];
  return ['url', 'description', 'max_batch', ...list];
}

const isAboutTypes = (field: string): boolean => field.startsWith('event_types');

/** Form fields of an endpoint: present settings, or the settings of a new endpoint. */
export function SettingsFields({
  of,
  refusal,
}: {
  readonly of?: Webhook;
  readonly refusal: Refused | undefined;
}) {
  const {
    url = '',
    description = '',
    event_types: types = USUAL_TYPES,
    max_batch: batch = 1,
  } = of ?? {};
  return (
    <>
      <TextField
        {...{ name: 'url', label: 'Address', refusal, value: url, maxLength: 2_048 }}
        placeholder="https://app.example/hooks/identity"
        hint="Begins with https://, uses port 443, and leads to the internet."
        hasFocus
      />
      <TextField
        {...{ name: 'description', label: 'Description', refusal, value: description }}
        maxLength={200}
        isOptional
      />
      <TypeChoice types={types} refusal={refusal} />
      <TextField
        {...{ name: 'max_batch', label: 'Changes per message', refusal, type: 'number' }}
        {...{ value: String(batch), min: 1, max: 100, inputMode: 'numeric' }}
        hint="1 to 100. With more, a busy endpoint gets fewer, larger messages."
      />
    </>
  );
}

/** One checkbox per type of event. */
function TypeChoice({
  types,
  refusal,
}: {
  readonly types: readonly string[];
  readonly refusal: Refused | undefined;
}) {
  const id = useId();
  const error = isAboutTypes(refusal?.field ?? '') ? refusal : undefined;
  return (
    <fieldset class="type-choice" aria-describedby={error === undefined ? undefined : id}>
      <legend>Events to send</legend>
      {TRANSITIONS.map((type) => (
        <label key={type}>
          <input type="checkbox" name={fieldOf(type)} defaultChecked={types.includes(type)} />
          <span>
            <strong>{EVENT_TYPES[type][0]}</strong> <code>{type}</code>
            <span class="hint">{EVENT_TYPES[type][1]}</span>
          </span>
        </label>
      ))}
      {error === undefined ? null : (
        <p class="field-error" id={id} role="alert">
          {error.reason === 'too_short' ? 'Select at least one type.' : sentence(error.message)}
        </p>
      )}
    </fieldset>
  );
}

const fieldOf = (type: string): string => `type.${type}`;

/** Settings in the values of the form. */
export function settingsIn(values: Values): Required<CreateWebhook> {
  const { url = '', description = '', max_batch: batch = '1' } = values;
  return {
    url: url.trim(),
    description: description.trim(),
    event_types: TRANSITIONS.filter((type) => values[fieldOf(type)] !== undefined),
    max_batch: Number(batch),
  };
}

/** Dialog that changes the settings of an endpoint. */
export function SettingsDialog({
  of,
  onClose,
  onDone,
}: {
  readonly of: Webhook;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const { run, isBusy, refusal } = useAction(async (values: Values) => {
    await webhookApi.change(of.id, settingsIn(values));
    onDone();
  });
  return (
    <FormDialog
      {...{ title: 'Change the settings', submit: 'Save', onClose, isBusy, refusal }}
      fields={shownFields(refusal)}
      onSubmit={run}
    >
      <SettingsFields of={of} refusal={refusal} />
    </FormDialog>
  );
}
