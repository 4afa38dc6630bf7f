import { useState } from 'preact/hooks';
import type { Instance, RenameInstance } from '#clients/typescript/src/models';
import { lastFleetAddress } from '#pages/fleet/view';
import { instanceApi } from '#pages/instance/api';
import { tagTexts } from '#pages/parts/format';
import { Refused } from '#pages/shell/api';
import { useIdempotencyKeys } from '#pages/shell/idempotency-key';
import { useAction } from '#pages/shell/loaded';
import { ResetField } from '#view/instance/reset-field';
import { FormDialog, TypedName } from '#view/parts/dialog';
import { SubmitButton, submitted, TextField, type Values } from '#view/parts/field';
import { RefusalNotice } from '#view/parts/notice';
import { navigate } from '#view/shell/router';
import { showMessage } from '#view/shell/toasts';

type SettingsProps = {
  readonly instance: Instance;
  /** Called with the saved texts. */
  readonly onSaved: (instance: Instance) => void;
};

/** Name, description and tags of the instance, its reset and its deletion. */
export function SettingsTab({ instance, onSaved }: SettingsProps) {
  return (
    <>
      <TextsPart {...{ instance, onSaved }} />
      <DangerPart instance={instance} />
    </>
  );
}

const FIELDS = ['name', 'description', 'tags'];

/** Form with the texts of the instance. Sends only what changed. */
function TextsPart({ instance, onSaved }: SettingsProps) {
  const { run, isBusy, refusal } = useAction(async (values: Values) => {
    const { tags: wanted, ...texts } = changeOf(instance, values);
    if (wanted !== undefined) {
      const before = instance.tags ?? {};
      // Keeps tags that other callers have changed since this page was opened.
      await instanceApi.changeTags(instance.id, (now) => mergedTags(before, wanted, now));
    }
    if (Object.keys(texts).length > 0) await instanceApi.update(instance.id, texts);
    const isChanged = wanted !== undefined || Object.keys(texts).length > 0;
    if (isChanged) onSaved(await instanceApi.instance(instance.id));
    showMessage(isChanged ? 'Saved.' : 'Nothing changed.');
  });
  // The service names the wrong tag: `tags.KEY`.
  const isOfTag = refusal?.field?.startsWith('tags') === true;
  const shown = isOfTag ? new Refused(refusal.code, refusal.message, { field: 'tags' }) : refusal;
  return (
    <section class="card" aria-labelledby="texts">
      <h2 id="texts">Name and tags</h2>
      <form class="settings" onSubmit={submitted((values) => run(values))}>
        <TextField
          {...{ name: 'name', label: 'Name', refusal: shown, maxLength: 100 }}
          value={instance.name}
        />
        <TextField
          {...{ name: 'description', label: 'Description', refusal: shown, maxLength: 2_000 }}
          {...{ lines: 3, isOptional: true, value: instance.description }}
        />
        <TextField
          {...{ name: 'tags', label: 'Tags', refusal: shown, lines: 3, isOptional: true }}
          value={tagLines(instance.tags ?? {})}
          hint="One tag a line: key, or key: value. At most 16."
        />
        <RefusalNotice refusal={shown} fields={FIELDS} />
        <p class="button-row">
          <SubmitButton isBusy={isBusy} busy="Saving …">
            Save
          </SubmitButton>
        </p>
      </form>
    </section>
  );
}

type Tags = Readonly<Record<string, string>>;

function tagLines(tags: Tags): string {
  return tagTexts(tags).join('\n');
}

/** Parses lines of tags. The key ends at the first colon. Empty lines are ignored. */
function tagsOf(text: string): Tags {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [key = '', ...value] = line.split(':');
      return [key.trim(), value.join(':').trim()];
    }),
  );
}

/** Tags after the changes of the form, which began with the tags `before`. */
function mergedTags(before: Tags, wanted: Tags, now: Tags): Tags {
  const kept = Object.entries(now).filter(([key]) => !(key in before) || key in wanted);
  const changed = Object.entries(wanted).filter(([key, value]) => before[key] !== value);
  return Object.fromEntries([...kept, ...changed]);
}

function changeOf(instance: Instance, values: Values): RenameInstance {
  const { name = '', description = '', tags = '' } = values;
  const isTagged = tagLines(tagsOf(tags)) !== tagLines(instance.tags ?? {});
  return {
    ...(name === instance.name ? {} : { name }),
    ...(description === instance.description ? {} : { description }),
    ...(isTagged ? { tags: { ...tagsOf(tags) } } : {}),
  };
}

/** Reset and deletion. Each requires typing the instance's name. */
function DangerPart({ instance }: { readonly instance: Instance }) {
  const [open, setOpen] = useState<'reset' | 'delete' | undefined>();
  const onClose = () => setOpen(undefined);
  return (
    <section class="card" aria-labelledby="danger">
      <h2 id="danger">Reset and delete</h2>
      <p class="quiet">
        A reset starts a new generation at cycle 0. The course and the API keep earlier generations.
        A deletion removes all data of the instance.
      </p>
      <p class="button-row">
        <button type="button" onClick={() => setOpen('reset')}>
          Reset …
        </button>
        <button type="button" class="is-danger-quiet" onClick={() => setOpen('delete')}>
          Delete …
        </button>
      </p>
      {open === 'reset' ? <ResetDialog {...{ instance, onClose }} /> : null}
      {open === 'delete' ? <DeleteDialog {...{ instance, onClose }} /> : null}
    </section>
  );
}

type DialogProps = { readonly instance: Instance; readonly onClose: () => void };

function ResetDialog({ instance, onClose }: DialogProps) {
  const [typed, setTyped] = useState('');
  const { keyFor } = useIdempotencyKeys();
  const { run, isBusy, refusal } = useAction(async (mode: string) => {
    await instanceApi.reset(instance.id, mode, keyFor(mode));
    onClose();
    showMessage(`${instance.name} was reset.`);
  });
  return (
    <FormDialog
      {...{ title: 'Reset the instance', submit: 'Reset', onClose, isBusy, refusal }}
      isDangerous
      isDisabled={typed !== instance.name}
      onSubmit={({ mode = 'default' }) => run(mode)}
    >
      <ResetField />
      <TypedName label="Type the name of the instance" name={instance.name} onTyped={setTyped} />
    </FormDialog>
  );
}

function DeleteDialog({ instance, onClose }: DialogProps) {
  const [typed, setTyped] = useState('');
  const { run, isBusy, refusal } = useAction(async () => {
    await instanceApi.remove(instance.id);
    navigate(lastFleetAddress());
    showMessage(`${instance.name} was deleted.`);
  });
  return (
    <FormDialog
      {...{ title: 'Delete the instance', submit: 'Delete permanently', onClose, isBusy, refusal }}
      isDangerous
      isDisabled={typed !== instance.name}
      onSubmit={() => run()}
    >
      <p>Deletes the state, the history and the drift events. A deletion cannot be undone.</p>
      <TypedName label="Type the name of the instance" name={instance.name} onTyped={setTyped} />
    </FormDialog>
  );
}
