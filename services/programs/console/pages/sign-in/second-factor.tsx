import { useState } from 'preact/hooks';
import { encode } from 'uqr';
import type { Enrolment, Me } from '#console/answers';
import { api } from '#pages/shell/api';
import { useAction } from '#pages/shell/loaded';
import { refreshMe, session } from '#pages/shell/session';
import { FormDialog, ShownOnce } from '#view/parts/dialog';
import { TextField } from '#view/parts/field';

type Action = 'enrol' | 'codes' | 'disable';

type Open =
  | { readonly kind: 'password'; readonly action: Action }
  | { readonly kind: 'scan'; readonly enrolment: Enrolment }
  | { readonly kind: 'codes'; readonly codes: readonly string[] };

/** Section that sets up or disables the second factor, and creates recovery codes. */
export function SecondFactorPart() {
  const [open, setOpen] = useState<Open | undefined>();
  const now = session.value;
  if (now.kind !== 'signed_in') return null;
  const close = () => setOpen(undefined);
  return (
    <section class="card" aria-labelledby="second-factor">
      <h2 id="second-factor">Second factor</h2>
      <State me={now.me} onAction={(action) => setOpen({ kind: 'password', action })} />
      {open?.kind === 'password' ? (
        <PasswordDialog action={open.action} onClose={close} onNext={setOpen} />
      ) : null}
      {open?.kind === 'scan' ? (
        <ScanDialog enrolment={open.enrolment} onClose={close} onNext={setOpen} />
      ) : null}
      {open?.kind === 'codes' ? (
        <ShownOnce
          title="Store these recovery codes"
          label="Recovery codes"
          value={open.codes.join('\n')}
          done="I have stored them"
          onClose={close}
        >
          <p>
            Each code replaces your authenticator once, if you lose it. The codes are not shown
            again, and earlier codes are invalid.
          </p>
        </ShownOnce>
      ) : null}
    </section>
  );
}

function State({ me, onAction }: { readonly me: Me; readonly onAction: (action: Action) => void }) {
  const { second_factor: state, recovery_codes_left: left } = me.user;
  if (state === 'off') {
    return (
      <>
        <p>
          <span class="badge is-warning">off</span> Only a password protects your account. Add an
          authenticator app as second factor.
        </p>
        <button type="button" class="is-main" onClick={() => onAction('enrol')}>
          Set up an authenticator
        </button>
      </>
    );
  }
  return (
    <>
      <p>
        <span class="badge is-good">on</span> {left} recovery {left === 1 ? 'code' : 'codes'} left.
      </p>
      <div class="button-row">
        <button type="button" onClick={() => onAction('codes')}>
          Make new recovery codes
        </button>
        <button type="button" class="is-danger-quiet" onClick={() => onAction('disable')}>
          Disable
        </button>
      </div>
    </>
  );
}

const TEXTS: Readonly<Record<Action, { title: string; submit: string; lead: string }>> = {
  enrol: {
    title: 'Set up an authenticator',
    submit: 'Continue',
    lead: 'Confirm your identity first.',
  },
  codes: {
    title: 'Make new recovery codes',
    submit: 'Create codes',
    lead: 'Your current recovery codes become invalid.',
  },
  disable: {
    title: 'Disable the second factor',
    submit: 'Disable',
    lead: 'You will sign in with your password only. Recovery codes become invalid.',
  },
};

type StepProps = {
  readonly onClose: () => void;
  readonly onNext: (next: Open | undefined) => void;
};

function PasswordDialog({ action, onClose, onNext }: StepProps & { readonly action: Action }) {
  const { run, isBusy, refusal } = useAction(async (password: string) => {
    switch (action) {
      case 'enrol':
        return onNext({ kind: 'scan', enrolment: await api.enrol(password) });
      case 'codes': {
        const { recovery_codes: codes } = await api.newRecoveryCodes(password);
        onNext({ kind: 'codes', codes });
        return await refreshMe();
      }
      case 'disable':
        await api.disableSecondFactor(password);
        onNext(undefined);
        return await refreshMe();
    }
  });
  const { title, submit, lead } = TEXTS[action];
  return (
    <FormDialog
      {...{ title, submit, onClose, isBusy, refusal }}
      isDangerous={action === 'disable'}
      fields={['password']}
      onSubmit={({ password = '' }) => run(password)}
    >
      <p>{lead}</p>
      <TextField
        {...{ name: 'password', label: 'Your password', type: 'password', refusal }}
        autocomplete="current-password"
        hasFocus
      />
    </FormDialog>
  );
}

function ScanDialog({
  enrolment: { secret, uri },
  onClose,
  onNext,
}: StepProps & { readonly enrolment: Enrolment }) {
  const { run, isBusy, refusal } = useAction(async (code: string) => {
    const { recovery_codes: codes } = await api.confirmEnrolment(code.trim());
    onNext({ kind: 'codes', codes });
    await refreshMe();
  });
  return (
    <FormDialog
      {...{ title: 'Scan this code', submit: 'Enable', onClose, isBusy, refusal }}
      fields={['code']}
      onSubmit={({ code = '' }) => run(code)}
    >
      <div class="scan">
        <QrCode text={uri} label="QR code for an authenticator" />
        <div>
          <p>Scan it with an authenticator, or type this secret into it:</p>
          <p>
            <code class="secret">{secret.replace(/(.{4})(?=.)/g, '$1 ')}</code>
          </p>
          <details>
            <summary>As a link</summary>
            <code class="secret">{uri}</code>
          </details>
        </div>
      </div>
      <TextField
        {...{ name: 'code', label: 'Current six digits of the authenticator', refusal }}
        autocomplete="one-time-code"
        inputMode="numeric"
        hasFocus
      />
    </FormDialog>
  );
}

/** QR code, dark on light in every color scheme, because cameras need this contrast. */
function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { data, size } = encode(text, { border: 3 });
  const squares = data.flatMap((row, y) =>
    row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')),
  );
  return (
    <svg class="qr-code" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <rect width={size} height={size} fill="#fff" />
      <path d={squares.join('')} fill="#000" shape-rendering="crispEdges" />
    </svg>
  );
}
