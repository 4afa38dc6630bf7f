import { useState } from 'preact/hooks';
import { api } from '#pages/shell/api';
import { useAction } from '#pages/shell/loaded';
import { goOn, startOver } from '#pages/shell/session';
import { submitted, TextField, type Values } from '#view/parts/field';
import { RefusalNotice } from '#view/parts/notice';
import { rememberedAccount } from '#view/sign-in/entry-link';
import { SignInFrame } from '#view/sign-in/frame';

/**
 * Sign-in with email and password. After the sign-in, the console shows the page at the present
 * address.
 */
export function SignInPage({ hasEnded }: { readonly hasEnded: boolean }) {
  const { run, isBusy, refusal } = useAction(async (values: Values) => {
    const { email = '', password = '', account_id: account = '' } = values;
    const named = account.trim() === '' ? {} : { account_id: account.trim() };
    await goOn(await api.signIn({ email, password, ...named }));
  });
  return (
    <SignInFrame title="Sign in">
      {hasEnded ? (
        <p class="notice" role="status">
          Your session has ended. Sign in again to continue on the same page.
        </p>
      ) : null}
      <form onSubmit={submitted(run)} aria-busy={isBusy}>
        <TextField name="email" label="Email" type="email" autocomplete="username" hasFocus />
        <TextField
          name="password"
          label="Password"
          type="password"
          autocomplete="current-password"
        />
        <TextField
          {...{ name: 'account_id', label: 'Account id', refusal, maxLength: 12 }}
          value={rememberedAccount() ?? ''}
          hint="Id of the account whose link you used first. This browser stores the id."
          isOptional
        />
        <RefusalNotice refusal={refusal} />
        <button type="submit" class="is-main is-wide" aria-disabled={isBusy}>
          {isBusy ? 'Signing in …' : 'Sign in'}
        </button>
      </form>
      <p class="hint">
        No password yet? Use the link of an invitation, or the set-up link that the service prints
        at its first start.
      </p>
    </SignInFrame>
  );
}

/** Second sign-in step: an authenticator code or a recovery code. */
export function SecondFactorPage() {
  const [isRecovery, setRecovery] = useState(false);
  const { run, isBusy, refusal } = useAction(async (code: string) => {
    await goOn(await api.secondFactor(code.trim()));
  });
  return (
    <SignInFrame
      title="Second factor"
      lead={
        isRecovery
          ? 'Enter one of your recovery codes. It works once.'
          : 'Enter the current six digits of your authenticator.'
      }
    >
      <form onSubmit={submitted(({ code = '' }) => run(code))} aria-busy={isBusy}>
        <TextField
          key={String(isRecovery)}
          name="code"
          label={isRecovery ? 'Recovery code' : 'Code'}
          autocomplete="one-time-code"
          inputMode={isRecovery ? 'text' : 'numeric'}
          hasFocus
        />
        <RefusalNotice refusal={refusal} />
        <button type="submit" class="is-main is-wide" aria-disabled={isBusy}>
          {isBusy ? 'One moment …' : 'Continue'}
        </button>
      </form>
      <p class="sign-in-frame-links">
        <button type="button" class="is-link" onClick={() => setRecovery(!isRecovery)}>
          {isRecovery ? 'Use the authenticator' : 'Use a recovery code'}
        </button>
        <button type="button" class="is-link" onClick={startOver}>
          Sign in as someone else
        </button>
      </p>
    </SignInFrame>
  );
}
