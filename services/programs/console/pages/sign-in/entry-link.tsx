import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { EntryLinkView } from '#console/answers';
import { api } from '#pages/shell/api';
import { useAction, useLoaded } from '#pages/shell/loaded';
import { goOn, refreshMe, session } from '#pages/shell/session';
import { submitted, TextField, type Values } from '#view/parts/field';
import { RefusalNotice, WhenLoaded } from '#view/parts/notice';
import { TimeText } from '#view/parts/text';
import { type EntryLink, entryLink } from '#view/shell/router';
import { SignInFrame } from '#view/sign-in/frame';

const FIELDS = ['email', 'name', 'password', 'code'];

/**
 * Page of an entry link: the first owner sets up the console, others accept an invitation. Describes
 * the link before the form, because a used link cannot be used again.
 */
export function EntryPage({ link }: { readonly link: EntryLink }) {
  const { kind, token } = link;
  const isSetUp = kind === 'set-up';
  const described = useLoaded(
    () => api.entryLink({ token, kind: isSetUp ? 'setup' : 'invitation' }),
    token,
  );
  const { loaded } = described;
  if (loaded.kind === 'failed' && loaded.refusal.reason === 'link_not_usable') {
    return <UselessLink isSetUp={isSetUp} />;
  }
  return (
    <SignInFrame title={isSetUp ? 'Set up the console' : 'Accept the invitation'}>
      <WhenLoaded loading={described} what="link">
        {(view) => <EntryForm link={link} view={view} />}
      </WhenLoaded>
      <SignInInstead />
    </SignInFrame>
  );
}

/** Page of a link that was used, withdrawn or has expired, with the next step. */
function UselessLink({ isSetUp }: { readonly isSetUp: boolean }) {
  return (
    <SignInFrame title="This link does not work">
      <p role="status">
        {isSetUp ? (
          <>
            The set-up link was used, or has expired. If the account has no owner yet, ask the
            operator of the service for a new link (<code>ctl users setup-link</code>).
          </>
        ) : (
          <>
            The invitation was accepted or withdrawn, or has expired. Ask an owner of the account
            for a new invitation. If you have accepted the invitation, sign in.
          </>
        )}
      </p>
      <SignInInstead isMain />
    </SignInFrame>
  );
}

function SignInInstead({ isMain = false }: { readonly isMain?: boolean }) {
  const leave = () => {
    entryLink.value = undefined;
  };
  return (
    <p class="sign-in-frame-links">
      <button type="button" class={isMain ? 'is-main is-wide' : 'is-link'} onClick={leave}>
        {isMain ? 'Sign in' : 'Sign in instead'}
      </button>
    </p>
  );
}

type FormProps = { readonly link: EntryLink; readonly view: EntryLinkView };

function EntryForm({ link, view }: FormProps) {
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
  return (
    <>
      <Description view={view} />
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
            autocomplete="one-time-code"
            inputMode="numeric"
            hasFocus
          />
        ) : null}
        <RefusalNotice refusal={refusal} fields={FIELDS} />
        <button type="submit" class="is-main is-wide" aria-disabled={isBusy}>
          {isBusy ? 'One moment …' : isSetUp ? 'Set up' : 'Join'}
        </button>
      </form>
      {isSetUp ? null : <JoinPart link={link} view={view} />}
    </>
  );
}

/** Account, role, email and inviter of a link. */
function Description({ view }: { readonly view: EntryLinkView }) {
  const { account, role, email, invited_by: inviter, expires_at: expiresAt } = view;
  const facts: (readonly [string, ComponentChildren])[] = [
    ['Account', account.name ?? account.id],
    ...(inviter === undefined ? [] : [['Invited by', inviter] as const]),
    ['Your role', role],
    ...(email === undefined ? [] : [['Your email', email] as const]),
    ['Link works until', <TimeText key="until" at={expiresAt} />],
  ];
  return (
    <dl class="facts entry-facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Joins with the signed-in user, if the invitation is for the same email. */
function JoinPart({ link, view }: FormProps) {
  const { run, isBusy, refusal } = useAction(async () => {
    await api.joinAccount({ token: link.token });
    entryLink.value = undefined;
    await refreshMe();
  });
  const own = session.value.kind === 'signed_in' ? session.value.me.user.email : undefined;
  if (own === undefined) return null;
  if (own !== view.email) {
    return (
      <p class="hint">
        You are signed in as {own}. The invitation is for another email, so it creates another user.
      </p>
    );
  }
  return (
    <>
      <RefusalNotice refusal={refusal} />
      <button type="button" class="is-wide" aria-disabled={isBusy} onClick={() => run()}>
        Join as {own}, who is signed in
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

/** Storage key for the account whose entry link was used in this browser. */
const KEY = 'sign-in-account';

/** Remembered account id for the sign-in form, or undefined. */
export function rememberedAccount(): string | undefined {
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
