import { useState } from 'preact/hooks';
import type { Instance } from '#clients/typescript/src/models';
import { instanceApi } from '#pages/instance/api';
import { useAction } from '#pages/shell/loaded';
import { FormDialog, TypedName } from '#view/parts/dialog';
import { SelectField } from '#view/parts/field';
import { navigate } from '#view/shell/router';

const RESETS = [
  ['default', 'To the last stable state'],
  ['initial', 'To the initial state'],
] as const;

/** Reset and deletion. Each requires typing the instance's name. */
export function DangerPart({ instance }: { readonly instance: Instance }) {
  const [open, setOpen] = useState<'reset' | 'delete' | undefined>();
  const onClose = () => setOpen(undefined);
  return (
    <section class="card" aria-labelledby="danger">
      <h2 id="danger">Reset and delete</h2>
      <p class="quiet">
        A reset starts a new generation at cycle 0. The API keeps the history of earlier generations
        (generation=all). A deletion removes all data of the instance.
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
  const { run, isBusy, refusal } = useAction(async (mode: string) => {
    await instanceApi.reset(instance.id, mode);
    onClose();
  });
  return (
    <FormDialog
      {...{ title: 'Reset the instance', submit: 'Reset', onClose, isBusy, refusal }}
      isDangerous
      isDisabled={typed !== instance.name}
      onSubmit={({ mode = 'default' }) => run(mode)}
    >
      <SelectField {...{ name: 'mode', label: 'Reset', choices: RESETS, value: 'default' }} />
      <TypedName label="Type the name of the instance" name={instance.name} onTyped={setTyped} />
    </FormDialog>
  );
}

function DeleteDialog({ instance, onClose }: DialogProps) {
  const [typed, setTyped] = useState('');
  const { run, isBusy, refusal } = useAction(async () => {
    await instanceApi.remove(instance.id);
    navigate('/fleet');
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
