import { useState } from 'preact/hooks';
import type { Webhook, WebhookAttempt, WebhookWithSecret } from '#clients/typescript/src/models';
import { numberText } from '#pages/parts/format';
import { Refused } from '#pages/shell/api';
import { useAction } from '#pages/shell/loaded';
import { may } from '#pages/shell/session';
import { webhookApi } from '#pages/webhooks/api';
import { failureText, hostOf, stateOf } from '#pages/webhooks/endpoint-state';
import { typesText } from '#pages/webhooks/event-types';
import { type LoadedEndpoint, useEndpoint } from '#pages/webhooks/use-endpoint';
import { FormDialog, TypedName } from '#view/parts/dialog';
import { RefusalNotice, Skeleton } from '#view/parts/notice';
import { CopyButton, TimeText } from '#view/parts/text';
import { navigate, Page } from '#view/shell/router';
import { showMessage } from '#view/shell/toasts';
import { AttemptBodies, Deliveries, FailedChanges } from '#view/webhooks/deliveries';
import { SecretShown, VerifySample } from '#view/webhooks/secret';
import { SettingsDialog } from '#view/webhooks/settings';

type OpenDialog = 'settings' | 'rotate' | 'delete' | { readonly made: WebhookWithSecret };

/** Page of one webhook endpoint: state, settings, deliveries and failed changes. */
export function EndpointPage({ id }: { readonly id: string }) {
  const loaded = useEndpoint(id);
  const [open, setOpen] = useState<OpenDialog | undefined>();
  const { data, refusal, isBusy, refresh } = loaded;
  const title = data === undefined ? 'Webhook endpoint' : hostOf(data.webhook.url);
  return (
    <Page
      title={title}
      lead={data?.webhook.description}
      actions={
        <button type="button" onClick={() => void refresh()} aria-disabled={isBusy}>
          Refresh
        </button>
      }
    >
      <RefusalNotice refusal={refusal} />
      {data === undefined && refusal === undefined ? <Skeleton what="endpoint" /> : null}
      {data === undefined ? null : (
        <>
          <StatePart of={data.webhook} loaded={loaded} onOpen={setOpen} />
          {may('instances.write') ? <TestPart of={data.webhook} /> : null}
          <FailedChanges {...{ ...data, loaded }} />
          <Deliveries {...{ ...data, loaded }} />
          <details class="card">
            <summary>How a receiver verifies messages</summary>
            <VerifySample />
          </details>
          {may('instances.write') ? <DangerPart onOpen={setOpen} /> : null}
          <Overlay {...{ of: data.webhook, open, refresh }} onOpen={setOpen} />
        </>
      )}
    </Page>
  );
}

/** State and settings, with the buttons that change them. */
function StatePart({
  of,
  loaded,
  onOpen,
}: {
  readonly of: Webhook;
  readonly loaded: LoadedEndpoint;
  readonly onOpen: (open: OpenDialog) => void;
}) {
  const { id, url, event_types: types, max_batch: batch, old_secret_until: until } = of;
  const { style, badge, text } = stateOf(of);
  return (
    <section class="card" aria-label="State and settings">
      <div class="card-head is-whole">
        <p class="instance-id">
          <code>{id}</code> <CopyButton value={id} what="the id" />
        </p>
        <span class={`badge ${style}`}>{badge}</span>
      </div>
      <p class="quiet">
        {of.failing_since === null ? null : (
          <>
            Failing since <TimeText at={of.failing_since} />.{' '}
          </>
        )}
        {text}
      </p>
      <dl class="figures hook-figures">
        <Fact name="Changes behind" value={numberText(of.changes_behind)} />
        <Fact name="Failed changes" value={numberText(of.changes_failed)} />
        <Fact name="Changes per message" value={`up to ${batch}`} />
      </dl>
      <dl class="facts">
        <Fact name="Address" value={url} />
        <Fact name="Events" value={typesText(types)} />
        <div>
          <dt>Created</dt>
          <dd>
            <TimeText at={of.created_at} />
          </dd>
        </div>
      </dl>
      {until === null ? null : (
        <p class="notice">
          Until <TimeText at={until} />, messages also have a signature of the old secret.
        </p>
      )}
      {may('instances.write') ? (
        <p class="button-row">
          <button type="button" onClick={() => onOpen('settings')}>
            Change the settings …
          </button>
          <PauseButton of={of} onChanged={loaded.refresh} />
        </p>
      ) : null}
    </section>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** Pauses or resumes the endpoint. A message offers to take the change back. */
function PauseButton({
  of,
  onChanged,
}: {
  readonly of: Webhook;
  readonly onChanged: () => Promise<void>;
}) {
  const change = async (isPaused: boolean): Promise<void> => {
    await webhookApi.change(of.id, { is_paused: isPaused });
    await onChanged();
  };
  const { run, isBusy, refusal } = useAction(async () => {
    const isPaused = of.paused === null;
    await change(isPaused);
    showMessage(isPaused ? 'The endpoint is paused.' : 'The endpoint is resumed.', {
      undo: () => void change(!isPaused).catch(showRefusal),
    });
  });
  return (
    <>
      <button type="button" onClick={() => run()} aria-disabled={isBusy}>
        {of.paused === null ? 'Pause' : 'Resume'}
      </button>
      <RefusalNotice refusal={refusal} />
    </>
  );
}

function showRefusal(error: unknown): void {
  if (!(error instanceof Refused)) throw error;
  showMessage(`The change was not taken back: ${error.message}`);
}

/** Sends a test event, and shows its outcome. */
function TestPart({ of }: { readonly of: Webhook }) {
  const [outcome, setOutcome] = useState<WebhookAttempt | undefined>();
  const { run, isBusy, refusal } = useAction(async () => {
    setOutcome(undefined);
    setOutcome(await webhookApi.test(of.id));
  });
  return (
    <section class="card" aria-labelledby="test">
      <h2 id="test">Test event</h2>
      <p class="quiet">
        Sends one signed message with the type <code>test</code> and without events, also to a
        paused endpoint. The service does not repeat it.
      </p>
      <button type="button" onClick={() => run()} aria-disabled={isBusy}>
        {isBusy ? 'Waiting for the answer …' : 'Send a test event'}
      </button>
      <RefusalNotice refusal={refusal} />
      <div role="status" class="test-outcome">
        {outcome === undefined ? null : <Outcome of={outcome} />}
      </div>
    </section>
  );
}

function Outcome({ of }: { readonly of: WebhookAttempt }) {
  const { failure, duration_ms: durationMs } = of;
  return (
    <>
      <p class={`notice ${failure === null ? 'is-good' : 'is-danger'}`}>
        {failure === null
          ? `The receiver accepted the test event in ${numberText(durationMs)} ms.`
          : `The test event failed after ${numberText(durationMs)} ms. ${failureText(failure)}`}
      </p>
      <AttemptBodies of={of} />
    </>
  );
}

function DangerPart({ onOpen }: { readonly onOpen: (open: OpenDialog) => void }) {
  return (
    <section class="card" aria-labelledby="danger">
      <h2 id="danger">Secret and deletion</h2>
      <p class="quiet">
        Rotate the secret if somebody may have seen it. After a deletion, the service sends nothing
        more, and the deliveries are no longer shown.
      </p>
      <p class="button-row">
        <button type="button" onClick={() => onOpen('rotate')}>
          Rotate the secret …
        </button>
        <button type="button" class="is-danger-quiet" onClick={() => onOpen('delete')}>
          Delete …
        </button>
      </p>
    </section>
  );
}

function Overlay({
  of,
  open,
  onOpen,
  refresh,
}: {
  readonly of: Webhook;
  readonly open: OpenDialog | undefined;
  readonly onOpen: (open: OpenDialog | undefined) => void;
  readonly refresh: () => Promise<void>;
}) {
  const onClose = () => onOpen(undefined);
  switch (open) {
    case undefined:
      return null;
    case 'settings':
      return (
        <SettingsDialog
          {...{ of, onClose }}
          onDone={() => {
            onClose();
            void refresh();
          }}
        />
      );
    case 'rotate':
      return (
        <RotateDialog
          {...{ of, onClose }}
          onDone={(made) => {
            onOpen({ made });
            void refresh();
          }}
        />
      );
    case 'delete':
      return <DeleteDialog {...{ of, onClose }} />;
    default:
      return <SecretShown secret={open.made.secret} isRotated onClose={onClose} />;
  }
}

type DialogProps = { readonly of: Webhook; readonly onClose: () => void };

function RotateDialog({
  of,
  onClose,
  onDone,
}: DialogProps & { readonly onDone: (made: WebhookWithSecret) => void }) {
  const [typed, setTyped] = useState('');
  const { run, isBusy, refusal } = useAction(async () => onDone(await webhookApi.rotate(of.id)));
  const host = hostOf(of.url);
  return (
    <FormDialog
      {...{ title: 'Rotate the secret', submit: 'Rotate', onClose, isBusy, refusal }}
      isDisabled={typed !== host}
      onSubmit={() => run()}
    >
      <p>
        The service creates a new secret. For 24 hours, each message has a signature of the new and
        of the old secret. Then only the new secret is valid. A rotation cannot be undone.
      </p>
      <TypedName label="Type the host of the address" name={host} onTyped={setTyped} />
    </FormDialog>
  );
}

function DeleteDialog({ of, onClose }: DialogProps) {
  const [typed, setTyped] = useState('');
  const { run, isBusy, refusal } = useAction(async () => {
    await webhookApi.remove(of.id);
    showMessage('The endpoint is deleted.');
    navigate('/webhooks');
  });
  const host = hostOf(of.url);
  return (
    <FormDialog
      {...{ title: 'Delete the endpoint', submit: 'Delete permanently', onClose, isBusy, refusal }}
      isDangerous
      isDisabled={typed !== host}
      onSubmit={() => run()}
    >
      <p>
        Deletes the endpoint with its secret, its position in the log and its failed changes. A
        deletion cannot be undone.
      </p>
      <TypedName label="Type the host of the address" name={host} onTyped={setTyped} />
    </FormDialog>
  );
}
