import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { api } from '#pages/shell/api';
import { useAction } from '#pages/shell/loaded';
import { goOn, refreshMe, session, startOver } from '#pages/shell/session';
import { submitted, TextField, type Values } from '#view/parts/field';
import { RefusalNotice } from '#view/parts/notice';
import { type EntryLink, entryLink, Page } from '#view/shell/router';

/** Frame of the pages before sign-in. */
export function SignInFrame({
  title,
  lead,
  children,
}: {
  readonly title: string;
  readonly lead?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <main class="sign-in-frame">
      <div class="sign-in-frame-card">
        <p class="brand">
          <BrandSign />
          Identity Engine
        </p>
        <Page title={title} lead={lead}>
          {children}
        </Page>
      </div>
    </main>
  );
}

/** Logo of the product. */
export function BrandSign() {
  return (
    <svg class="brand-sign" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M16 5.5 25.1 10.75v10.5L16 26.5l-9.1-5.25v-10.5z" class="brand-frame" />
      <path d="M16 10.2 21.4 14l-2 6.2-7.6.9-1.6-7.3z" class="brand-shape" />
    </svg>
  );
}

const FIELDS = ['email', 'name', 'password'];

/** Page of an entry link: the first owner sets up the console, others accept an invitation. */
export function EntryPage({ link }: { readonly link: EntryLink }) {
  const isSetUp = link.kind === 'set-up';
  const { run, isBusy, refusal } = useAction(async (values: Values) => {
    const state = await entered(link, values);
    rememberAccountOf(link.token);
    entryLink.value = undefined;
    await goOn(state);
  });
  const [isCodeNeeded, setCodeNeeded] = useState(false);
  useEffect(() => {
    if (refusal?.reason === 'second_factor_needed') setCodeNeeded(true);
  }, [refusal]);
  const leave = () => {
    entryLink.value = undefined;
  };
  const own = session.value.kind === 'signed_in' ? session.value.me.user.email : undefined;
  return (
    <SignInFrame
      title={isSetUp ? 'Set up the console' : 'Accept the invitation'}
      lead={
        isSetUp
          ? 'You become the first owner of this account. The link works once.'
          : 'You become a member of the inviting account, with the email address of the invitation.'
      }
    >
      <form onSubmit={submitted(run)} aria-busy={isBusy}>
        {isSetUp ? (
          <TextField
            {...{ name: 'email', label: 'Email', refusal, autocomplete: 'username' }}
            type="email"
            hasFocus
          />
        ) : null}
        <TextField
          {...{ name: 'name', label: 'Your name', refusal, autocomplete: 'name' }}
          maxLength={100}
          hasFocus={!isSetUp}
        />
        <TextField
          {...{ name: 'password', label: 'Password', refusal, autocomplete: 'new-password' }}
          type="password"
          hint={
            isSetUp
              ? 'At least 12 characters. Several words are better than symbols.'
              : 'At least 12 characters. Former members of this account: your old password.'
          }
        />
        {isCodeNeeded ? (
          <TextField
            {...{ name: 'code', label: 'Code of your second factor', refusal }}
            inputMode="numeric"
            hasFocus
          />
        ) : null}
        <RefusalNotice refusal={refusal} fields={FIELDS} />
        <button type="submit" class="is-main is-wide" disabled={isBusy}>
          {isBusy ? 'One moment …' : isSetUp ? 'Set up' : 'Join'}
        </button>
      </form>
      {isSetUp || own === undefined ? null : <JoinPart link={link} email={own} />}
      <p class="sign-in-frame-links">
        <button type="button" class="is-link" onClick={leave}>
          Sign in instead
        </button>
      </p>
    </SignInFrame>
  );
}

/** Joins with the signed-in user, if the invitation is for the same email. */
function JoinPart({ link, email }: { readonly link: EntryLink; readonly email: string }) {
  const { run, isBusy, refusal } = useAction(async () => {
    await api.joinAccount({ token: link.token });
    entryLink.value = undefined;
    await refreshMe();
  });
  return (
    <>
      <RefusalNotice refusal={refusal} />
      <button type="button" class="is-wide" disabled={isBusy} onClick={() => run()}>
        Join as {email}, who is signed in
      </button>
    </>
  );
}

function entered({ kind, token }: EntryLink, values: Values) {
  const { email = '', name = '', password = '', code } = values;
  const proof = code === undefined ? {} : { code };
  return kind === 'set-up'
    ? api.setUp({ token, email, name, password, ...proof })
    : api.acceptInvitation({ token, name, password, ...proof });
}

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
        <button type="submit" class="is-main is-wide" disabled={isBusy}>
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
        <button type="submit" class="is-main is-wide" disabled={isBusy}>
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

/** Storage key for the account whose entry link was used in this browser. */
const KEY = 'sign-in-account';

/** Remembered account id for the sign-in form, or undefined. */
function rememberedAccount(): string | undefined {
  try {
    return localStorage.getItem(KEY) ?? undefined;
  } catch {
    // The browser may deny storage. The person then types the id.
    return undefined;
  }
}

/** Remembers an entry link's account. The account id is the part before the dot. */
function rememberAccountOf(token: string): void {
  try {
    localStorage.setItem(KEY, token.split('.')[0] ?? '');
  } catch {
    // The browser may deny storage.
  }
}
